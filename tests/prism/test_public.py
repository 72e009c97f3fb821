"""The public functions, their documentation and their cost."""

import ast
import doctest
import inspect
import json
import re
import subprocess
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

import prism
from collectors.columns.record import COLUMNS
from prism import public
from prism.cli import main

ROOT = Path(__file__).parents[2]
RUN = ROOT / "pcaps" / "slow_nic"
FUNCTIONS = ("read", "diagnose", "replay", "simulate")
MODULES = ("prism", "prism.public", "prism.results")


def test_import_loads_nothing_but_the_package():
    """Other names are imported when they are used, so that the command line and other programs start at once."""
    script = "import sys; before = set(sys.modules); import prism; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert [name for name in done.stdout.split() if not name.startswith("__editable__")] == ["prism"]


def test_every_public_name_is_there_and_others_are_not():
    assert set(prism.__all__) == set(prism._MODULES) <= set(dir(prism))
    for name in prism.__all__:
        assert getattr(prism, name) is getattr(import_module(prism._MODULES[name]), name)
    with pytest.raises(AttributeError, match="module 'prism' has no attribute 'nothing'"):
        _ = prism.nothing


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_are_right(module, monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testmod(import_module(module), optionflags=doctest.FAIL_FAST)
    assert result.attempted > 2
    assert result.failed == 0


def sections(docstring):
    """The headings of a docstring in the style of numpydoc."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    return [line for line, under in pairwise(lines) if line and under == "-" * len(line)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_have_sections(name):
    function = getattr(prism, name)
    assert sections(function.__doc__) == ["Parameters", "Returns", "Raises", "Assumptions", "Examples"]
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"^ *(\w+, )*{parameter}(,| :|$)", function.__doc__, re.MULTILINE), parameter


@pytest.mark.parametrize("module", ["public", "results"])
def test_public_methods_say_what_they_return(module):
    """Return values, parameters and own errors each have a section."""
    tree = ast.parse((ROOT / "prism" / f"{module}.py").read_text())
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        found = sections(ast.get_docstring(node, clean=False))
        given = [one.arg for one in (*node.args.args, *node.args.kwonlyargs) if one.arg != "self"]
        raises = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
        assert "Returns" in found, node.name
        assert ("Parameters" in found) == bool(given), node.name
        assert "Raises" in found or not raises, node.name


@pytest.mark.parametrize("name", sorted(set(prism.__all__) - set(FUNCTIONS)))
def test_public_types_list_their_attributes(name):
    kind = getattr(prism, name)
    assert "Attributes" in sections(kind.__doc__)
    columns = {column.name for column in COLUMNS} if name == "Flows" else set()  # their meaning is in the table of columns
    own = {field for base in kind.__mro__ for field in getattr(base, "__annotations__", {})}
    for field in own - columns:
        assert re.search(rf"^ *(\w+, )*{field}(,| :|$)", kind.__doc__, re.MULTILINE), field


def test_files_may_be_named_in_every_way(tmp_path):
    path = tmp_path / "leaf0.csv"
    path.write_text("start_ns,end_ns,src,dst,octets\n1,2,10.0.0.1,10.0.0.2,3\n")
    one = prism.read(path)
    assert (len(one), one.flows.exporters) == (1, ("leaf0",))
    assert prism.read(str(path)).to_dict() == prism.read([path]).to_dict() == one.to_dict()
    assert prism.read({"tor": path}).flows.exporters == prism.read([f"tor={path}"]).flows.exporters == ("tor",)
    with pytest.raises(ValueError, match="both belong to switch 'leaf0'"):
        prism.read([path, path])
    with pytest.raises(ValueError, match="no files are given"):
        prism.read([])
    with pytest.raises(FileNotFoundError, match=r"missing\.pcap"):
        prism.read(tmp_path / "missing.pcap")


def test_a_replay_is_the_report_of_the_command_line(tmp_path):
    """The same files give the same jobs and findings as `prism replay --json`, also in two parts."""
    paths, topology = sorted(RUN.glob("*.pcap.gz")), RUN / "topology.json"
    written = ["replay", "--quiet", *map(str, paths), "--topology", str(topology), "--json", str(tmp_path / "report.json")]
    assert CliRunner().invoke(main.app, written).exit_code == 0
    found = prism.replay(paths, topology=topology)
    assert found.to_json() == (tmp_path / "report.json").read_text()
    assert prism.diagnose(prism.read(paths, topology=topology), topology=topology).to_json() == found.to_json()


def test_documents_are_dicts_or_files(tmp_path):
    run = prism.simulate({"jobs": [{"name": "A", "dp": 4, "steps": 8}], "cluster": {"hosts": 4}}, seed=2)
    document = {"endpoints": {address: {"host": place.host} for address, place in run.topology.endpoints.items()}}
    hints = {"jobs": [{"name": "llama", "endpoints": list(document["endpoints"])}]}
    found = prism.diagnose(run.flows, topology=document, hints=hints)
    assert [job.job.name for job in found.jobs] == ["llama"]
    assert found.source.flows == len(run)
    for name, own in (("topology", document), ("hints", hints)):
        (tmp_path / f"{name}.json").write_text(json.dumps(own))
    files = {name: tmp_path / f"{name}.json" for name in ("topology", "hints")}
    assert prism.diagnose(run, **files).to_dict()["jobs"] == found.to_dict()["jobs"]
    (tmp_path / "topology.json").write_bytes(b'{"endpoints": "\xff"}')
    with pytest.raises(ValueError, match=r"topology\.json: offset 15: not UTF-8 text"):
        prism.diagnose(run, **files)


def test_simulations_are_named_or_described():
    assert len(prism.simulate("ddp-rdma", seed=1, settings=["jobs.0.steps=3"]).truth["jobs"]) == 1
    with pytest.raises(ValueError, match="neither a file nor a preset"):
        prism.simulate("nothing")
    with pytest.raises(ValueError, match="spec"):
        prism.simulate({"jobs": [{"colour": "red"}]})


def test_public_is_the_home_of_the_functions():
    assert {prism._MODULES[name] for name in FUNCTIONS} == {public.__name__}
