"""What no single module can promise: that the parts lie where a reader expects them."""

import ast
import json
import re
import shutil
import subprocess
import tomllib
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MODULES = sorted(
    path.relative_to(ROOT) for package in ("prism", "collectors", "benchmarks") for path in (ROOT / package).rglob("*.py")
)
PROGRAM = [module for module in MODULES if module.parts[0] != "benchmarks"]  # what is installed
# names of files that several folders have, with one meaning: constants of a folder; routes that bear the name of their address
MANY = {"constants"} | {
    module.stem
    for module in PROGRAM
    if module.parent.parts[:2] == ("prism", "api") and module.parent.name in ("routes", "changes")
}


@pytest.mark.parametrize("module", [m for m in MODULES if m.name != "__init__.py"], ids=str)
def test_tests_lie_as_their_modules_do(module):
    assert (ROOT / "tests" / module.parent / f"test_{module.name.lstrip('_')}").exists()


@pytest.mark.parametrize("package", ["collectors", "prism", "tests/collectors", "tests/prism"])
def test_a_folder_has_at_most_fifteen_files(package):
    counts = Counter(path.parent for path in (ROOT / package).rglob("*.py") if path.name != "__init__.py")
    assert {folder: count for folder, count in counts.items() if count > 15} == {}


@pytest.mark.parametrize("package", ["collectors", "prism"])
def test_no_name_of_a_file_is_used_twice(package):
    names = [module.stem.lstrip("_") for module in PROGRAM if module.parts[0] == package and module.name != "__init__.py"]
    assert [name for name, count in Counter(names).items() if count > 1 and name not in MANY] == []


@pytest.mark.parametrize("module", [m for m in PROGRAM if m.name == "__init__.py"], ids=str)
def test_every_folder_says_what_it_is_for(module):
    assert len((ast.get_docstring(ast.parse((ROOT / module).read_text())) or "").split()) >= 10


def test_no_files_import_one_another_in_a_circle():
    TopologicalSorter(_graph()).prepare()  # raises CycleError


def test_no_folders_import_one_another_in_a_circle():
    """A folder's own files are apart from the folders in it: `detectors` may import `detectors.peers`, not the reverse too."""
    folders = {}
    for name, imports in _graph().items():
        own = name.rpartition(".")[0]
        others = {other.rpartition(".")[0] for other in imports} - {own, "collectors", "prism"}
        folders.setdefault(own, set()).update(() if own in ("collectors", "prism") else others)
    TopologicalSorter(folders).prepare()


def _graph():
    """What each file imports, without the files of folders themselves."""
    names = {".".join(module.with_suffix("").parts): module for module in PROGRAM if module.name != "__init__.py"}
    return {name: _imported(ROOT / module) & names.keys() for name, module in names.items()}


def _imported(path):
    """The modules that a file imports, also inside of functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_file_is_a_room_you_can_see_across(module):
    assert len((ROOT / module).read_text().splitlines()) <= 350


def test_every_requirement_is_pinned_and_nothing_says_where_from():
    pins = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, pin = line.partition("==")
            assert re.fullmatch(r"[A-Za-z0-9._-]+", name), line
            assert re.fullmatch(r"[0-9][A-Za-z0-9.]*", pin), line
            pins[re.sub(r"[-_.]+", "-", name).lower()] = pin
    project = PROJECT["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["test"], *project["optional-dependencies"]["lint"]]
    for requirement in asked:
        assert re.match(r"[A-Za-z0-9._-]+", requirement)[0].replace("_", "-").lower() in pins


# functions of a complexity of 11 or 12 that are older than the limit of 10; the list only gets shorter
COMPLEX = frozenset(
    [
        "_gre",
        "_pcapng",
        "_peel",
        "_places",
        "_text",
        "_unit",
        "changes",
        "of_type",
        "tcp_records",
        "unpack_any",
        "unpack_datagrams",
        "unpack_messages",
        "unpack_uet",
    ]
)


def test_no_function_is_more_complex_than_the_limit_allows():
    """At most 12 by ruff, without exceptions; at most 10 for every function that is not in the list."""
    lint = PROJECT["tool"]["ruff"]["lint"]
    assert lint["mccabe"]["max-complexity"] <= 12
    assert {"C90"} <= set(lint["select"])
    assert not [rules for rules in lint["per-file-ignores"].values() if any(rule.startswith("C9") for rule in rules)]
    for module in MODULES:
        assert "noqa: C901" not in (ROOT / module).read_text(), module
    ruff = shutil.which("ruff") or pytest.skip("ruff is not installed")
    words = ["check", "--no-cache", "--select", "C901", "--config", "lint.mccabe.max-complexity=10", "--output-format", "json"]
    done = subprocess.run([ruff, *words, str(ROOT)], capture_output=True, text=True, check=False)
    found = {re.search(r"`(\w+)`", one["message"])[1]: one["filename"] for one in json.loads(done.stdout)}
    assert set(found) <= COMPLEX, {name: where for name, where in found.items() if name not in COMPLEX}


def test_the_captures_described_are_the_captures_there():
    described = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "pcaps" / "README.md").read_text(), re.MULTILINE))
    assert described == {path.name for path in (ROOT / "pcaps").iterdir() if path.is_dir()}
