import json
import os

import pytest

from collectors.compilation import _compiled_stamp as compiled_stamp
from collectors.compilation import source_stamps
from collectors.compilation._compiled_stamp import digest, has_stamp, write_stamp
from collectors.compilation.warming import Warming, all_compiled, listed, loop_of


@pytest.fixture
def loops(tmp_path, monkeypatch):
    """Two listed loops whose code, so it seems, lies in a folder of the test."""
    found = [loop for task in listed()[:2] if (loop := loop_of(task)) is not None]
    for loop in found:
        monkeypatch.setattr(loop._cache._cache_file, "_cache_path", str(tmp_path))
        (tmp_path / loop._cache._cache_file._index_name).touch()
    return found


def test_without_word_loops_are_checked_and_with_it_not(loops):
    assert not has_stamp(loops[0], source_stamps.PACKAGES)
    assert not all_compiled(source_stamps.PACKAGES)
    write_stamp(loops, source_stamps.PACKAGES)
    assert has_stamp(loops[0], source_stamps.PACKAGES)
    with Warming() as found:
        found.start_if_needed()
        assert (found.state, found.total) == ("done", 0)
        assert found._process is None
    assert not all_compiled(["collectors"])  # this word was about both


def test_code_that_is_gone_is_no_longer_known(loops, tmp_path):
    write_stamp(loops, source_stamps.PACKAGES)
    (tmp_path / loops[1]._cache._cache_file._index_name).unlink()
    assert not has_stamp(loops[0], source_stamps.PACKAGES)


def test_another_version_or_processor_is_another_digest(monkeypatch):
    here = digest(source_stamps.PACKAGES)
    assert here == digest(source_stamps.PACKAGES)
    for what, name in ((compiled_stamp.numba, "__version__"), (compiled_stamp.sys, "version")):
        with monkeypatch.context() as other:
            other.setattr(what, name, "0")
            assert digest(source_stamps.PACKAGES) != here
    with monkeypatch.context() as other:
        other.setattr(compiled_stamp.llvm, "get_host_cpu_name", lambda: "z80")
        assert digest(source_stamps.PACKAGES) != here


def test_a_changed_source_is_another_digest(monkeypatch, tmp_path):
    package = tmp_path / "changed"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "sums.py").write_text("def total(): ...")
    (package / "loops.json").write_text(json.dumps({"types": [], "loops": {"changed.sums.total": []}}))
    monkeypatch.syspath_prepend(str(tmp_path))
    before = digest(["changed"])
    os.utime(package / "sums.py", ns=(1, 1))
    source_stamps._state.cache_clear()
    assert digest(["changed"]) != before


@pytest.mark.parametrize("text", ["", "{", "[]", '{"digest": 1}', "\ud800".encode("utf-8", "surrogatepass")])
def test_a_damaged_word_counts_as_none(loops, text):
    write_stamp(loops, source_stamps.PACKAGES)
    path = compiled_stamp._path(loops[0], source_stamps.PACKAGES)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert not has_stamp(loops[0], source_stamps.PACKAGES)


def test_nothing_is_written_where_nothing_can_be(loops, monkeypatch, tmp_path):
    monkeypatch.setattr(loops[0]._cache._cache_file, "_cache_path", str(tmp_path / "nowhere"))
    write_stamp(loops, source_stamps.PACKAGES)
    assert not has_stamp(loops[0], source_stamps.PACKAGES)
