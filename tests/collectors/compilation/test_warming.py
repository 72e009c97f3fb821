import ast
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from collectors.compilation import compiled, source_stamps, warming
from collectors.compilation.warming import Task, Warming, compile_all, listed, loop_of, missing

ROOT = Path(__file__).parents[3]
SMALL = "prism.loops.arrays.connected_parts.connected"


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A folder without compiled code, for the processes that a test starts."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


def test_every_entry_of_the_lists_is_a_loop():
    tasks = listed()
    assert len(tasks) > 50
    assert [task for task in tasks if loop_of(task) is None] == []
    assert {task.module.split(".")[0] for task in listed(["collectors"])} == {"collectors"}
    for task in tasks:
        for signature in task.signatures:
            assert warming.types_of(signature)


def test_what_is_missing_is_found_and_compiled(empty):
    script = f"""
from collectors.compilation import warming
if __name__ == "__main__":
    tasks = [t for t in warming.listed() if f"{{t.module}}.{{t.name}}" == {SMALL!r}]
    assert warming.missing(tasks) == tasks
    assert [t.name for t in warming.compile_all(tasks, 2)] == ["connected"]
    assert warming.missing(tasks) == []
"""
    path = empty / "script.py"
    path.write_text(script)
    subprocess.run([sys.executable, str(path)], check=True, cwd=ROOT)


def test_nothing_to_compile_starts_no_process():
    assert list(compile_all([], 2)) == []
    assert missing([Task("collectors.compilation.warming", "cores", ((),))]) == []


@pytest.mark.usefixtures("empty")
def test_background_compilation_says_how_far_it_is_and_ends_when_stopped():
    counted = threading.Event()
    found = Warming(["collectors"], told=lambda _: counted.set())
    assert found.health()["state"] == "waiting"
    with found:
        found.start()
        found.start()
        assert counted.wait(60)
        process = found._process
        assert found.total > 10
        assert found.health() == {
            "ok": True, "state": "running", "done": found.done, "total": found.total, "seconds": found.health()["seconds"],
        }  # fmt: skip
    assert found.health()["state"] == "stopped"
    assert process.poll() is not None


def test_who_asks_for_code_after_the_end_starts_nothing():
    with Warming(["collectors"]) as found:
        pass
    found.start()
    assert found._process is None


@pytest.mark.usefixtures("empty")
def test_it_ends_with_who_began_it():
    script = """
import os, sys, time
from collectors.compilation.warming import Warming
w = Warming(["collectors"], told=lambda w: (print(w._process.pid, flush=True), os._exit(0)))
w.start()
time.sleep(60)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT, timeout=60)
    group = int(done.stdout)
    for _ in range(1000):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        threading.Event().wait(0.01)
    pytest.fail("it goes on")


@pytest.mark.usefixtures("empty")
def test_a_failure_is_reported(monkeypatch):
    monkeypatch.setattr(warming.sys, "executable", "/bin/false")
    ended = threading.Event()
    found = Warming(["collectors"], told=lambda _: ended.set())
    found.start()
    assert ended.wait(20)
    assert (found.state, found.health()["ok"]) == ("failed", False)
    found.stop()


def loops_called_by_plain_code():
    """The names of loops that functions which are not compiled refer to, with a place each."""
    found = {}
    for package in source_stamps.PACKAGES:
        folder = importlib.import_module(package).__path__
        for info in pkgutil.walk_packages(folder, f"{package}."):
            names = vars(importlib.import_module(info.name))
            tree = ast.parse(Path(importlib.util.find_spec(info.name).origin).read_text("utf-8"))
            plain = [s for s in tree.body if not isinstance(names.get(getattr(s, "name", "")), compiled.Loop)]
            for node in (node for statement in plain for node in ast.walk(statement)):
                loop = None
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    loop = names.get(node.id)
                elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    module = names.get(node.value.id)
                    loop = vars(module).get(node.attr) if isinstance(module, ModuleType) else None
                if isinstance(loop, compiled.Loop) and loop.kept:
                    found[f"{loop.py_func.__module__}.{loop.__name__}"] = f"{info.name}:{node.lineno}"
    return found


def test_the_lists_have_every_loop_that_plain_code_calls():
    """Else it is compiled when it is first needed: in the middle of an incident, perhaps. `scripts/loops --add` lists it."""
    called = loops_called_by_plain_code()
    assert len(called) > 50
    known = {f"{task.module}.{task.name}" for task in listed()}
    assert {name: place for name, place in called.items() if name not in known} == {}


@pytest.mark.parametrize("run", ["experts", "hang"])
def test_the_lists_have_all_that_a_replay_needs(run, tmp_path):
    """In a new process: which loops run there shows only where none was loaded before."""
    script = f"""
import json
from pathlib import Path
from collectors.compilation import compiled
from collectors.compilation.signatures import encode
compiled.recorded = {{}}
from prism.cli.main import app
folder = Path({str(ROOT / "pcaps" / run)!r})
files = [str(p) for p in sorted(folder.glob("*.pcap.gz"))]
app(["replay", "--quiet", *files, "--topology", str(folder / "topology.json")], standalone_mode=False)
told = {{name: [[encode(kind) for kind in one] for one in many] for name, many in compiled.recorded.items()}}
Path({str(tmp_path / "told.json")!r}).write_text(json.dumps(told))
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT, capture_output=True)
    known = {f"{t.module}.{t.name}": [list(s) for s in t.signatures] for t in listed()}
    told = json.loads((tmp_path / "told.json").read_text())
    assert len(told) > 25
    assert {name: s for name, many in told.items() for s in many if s not in known.get(name, [])} == {}
