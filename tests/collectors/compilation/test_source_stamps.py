import os
import sys
import types

import pytest

from collectors.compilation import source_stamps
from collectors.compilation.source_stamps import source_stamp
from collectors.flows import flow_tracking

LOOP = "from collectors.compilation.compiled import compiled\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of its own; the function returns the stamp of its loop, anew each time."""
    for name, text in {
        "__init__": "",
        "loop": LOOP + "from own import constants as c\nfrom own.parts import (\n    total,\n)\nfrom own.tables import WIDTH\n",
        "parts": LOOP + "from own.deep import END\n",
        "deep": "",
        "constants": "",
        "tables": "from own.far import FAR\n",
        "far": "",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    module = types.ModuleType("own")
    module.__file__ = str(tmp_path / "__init__.py")
    monkeypatch.setitem(sys.modules, "own", module)
    monkeypatch.setattr(source_stamps, "PACKAGES", ("own",))

    def stamped():
        for cached in (source_stamps._text, source_stamps._state, source_stamps._is_followed, source_stamps._imports):
            cached.cache_clear()
        return source_stamp(str(tmp_path / "loop.py"))

    yield tmp_path, stamped
    stamped()
    source_stamps._file.cache_clear()


@pytest.mark.parametrize(
    ("name", "part"), [("loop", True), ("parts", True), ("deep", True), ("constants", True), ("tables", True), ("far", False)]
)
def test_what_a_loop_is_made_of_makes_its_code_old(package, name, part):
    folder, stamped = package
    before = stamped()
    os.utime(folder / f"{name}.py", (1, 1))
    assert (stamped() != before) is part


def test_parts_of_the_collectors_loops_are_known():
    names = {name for name, _, _ in source_stamp(flow_tracking.__file__)}
    assert {"flow_tracking.py", "_segments.py", "hash_slots.py", "address_book.py"} <= names
    assert "compiled.py" not in names


def test_a_loop_has_the_stamp():
    assert flow_tracking.follow._cache._cache_file._source_stamp == source_stamp(flow_tracking.__file__)
