import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from numba.core import types
from numba.core.imputils import builtin_registry

from collectors.compilation import compiled as module
from collectors.compilation import warming
from collectors.compilation.compiled import compiled

ROOT = Path(__file__).parents[3]


@compiled
def total(n: int) -> int:
    """The sum of the numbers below n."""
    found = 0
    for i in range(n):
        found += i
    return found


def test_a_compiled_loop_is_the_loop():
    assert total(10) == 45
    assert total.__doc__ == "The sum of the numbers below n."


@pytest.fixture
def patient(monkeypatch):
    monkeypatch.setattr(module, "_patient", False)
    monkeypatch.setattr(module, "_wanted", None)
    wanted = []
    monkeypatch.setattr(warming, "_beside", None)
    monkeypatch.setattr(module, "_beside", None)
    module.be_patient(lambda: wanted.append(1), warming.compiled_beside)
    return wanted


def fresh(monkeypatch):
    """A loop without compiled code, and what is interpreted of it."""

    def double(values, by=2):
        return len(values) * by

    loop = compiled(double)
    monkeypatch.setattr(type(loop), "is_ready", lambda *_: False)
    return loop


def test_who_is_patient_interprets_and_says_so_once(monkeypatch, patient):
    loop = fresh(monkeypatch)
    assert loop(np.zeros(3)) == 6
    assert loop(np.zeros(3), 3) == 9
    assert not loop.overloads
    assert patient == [1]
    assert module.is_patient()


def test_large_inputs_are_compiled_for(monkeypatch, patient):
    loop = fresh(monkeypatch)
    assert loop(np.zeros(module.MANY)) == 2 * module.MANY
    assert len(loop.overloads) == 1
    assert not patient


@pytest.mark.usefixtures("patient")
def test_code_that_another_process_compiled_is_taken(monkeypatch):
    loop = fresh(monkeypatch)
    assert loop(np.zeros(3)) == 6
    monkeypatch.undo()
    monkeypatch.setattr(module, "_patient", True)
    monkeypatch.setattr(type(loop), "is_ready", lambda *_: True)
    assert loop(np.zeros(3)) == 6
    assert not loop.overloads  # it looks again after a while
    loop._look_at = 0.0
    assert loop(np.zeros(3)) == 6
    assert len(loop.overloads) == 1


def overdue(loop):
    loop._look_at, loop._wanted_since = 0.0, -2 * module.WAIT_S


@pytest.mark.usefixtures("patient")
def test_a_loop_on_no_list_is_compiled_by_a_process_and_not_waited_for(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    loop = compiled(total.py_func)
    loop._cache._cache_file._cache_path = str(tmp_path)  # nothing is there
    monkeypatch.setattr(type(loop), "is_ready", lambda *_: False)
    overdue(loop)
    assert loop(np.int16(5)) == 10
    assert not loop.overloads
    (asked, signature), process = warming._beside
    assert (asked, len(signature)) == (loop, 1)
    overdue(loop)
    assert loop(np.int16(6)) == 15  # it still compiles: no second process, and nobody waits
    assert warming._beside[1] is process
    assert not loop.overloads
    assert process.wait(120) == 0
    assert len(list(tmp_path.rglob("test_compiled.total-*.nbc"))) == 1
    process.stdin.close()


def test_what_no_process_can_compile_is_compiled_here(monkeypatch, patient):
    loop = fresh(monkeypatch)
    overdue(loop)
    assert loop(np.zeros(3)) == 6  # the process finds no loop of this name
    assert not loop.overloads
    warming._beside[1].wait(120)
    overdue(loop)
    assert loop(np.zeros(3)) == 6
    assert len(loop.overloads) == 1
    assert warming._beside is None
    assert patient == [1]


def test_who_is_not_patient_waits(monkeypatch):
    monkeypatch.setattr(module, "_patient", False)
    loop = fresh(monkeypatch)
    assert loop(np.zeros(3)) == 6
    assert len(loop.overloads) == 1


def test_a_loop_looks_for_its_code_while_another_thread_compiles(monkeypatch):
    context = total.targetctx
    busy, go_on = threading.Event(), threading.Event()

    def registrations():
        while True:
            busy.set()
            assert go_on.wait(30)
            yield []

    monkeypatch.setitem(context._registries[builtin_registry]._registrations, "functions", registrations())
    other = threading.Thread(target=context.refresh)  # as a compilation does
    other.start()
    try:
        assert busy.wait(30)
        assert not total.is_ready((types.complex64,))
    finally:
        go_on.set()
        other.join()


def test_types_are_recorded_where_somebody_wants_to_know(monkeypatch):
    monkeypatch.setattr(module, "recorded", {})
    loop = fresh(monkeypatch)
    for values in (np.zeros(3), np.zeros(3, np.int32), np.zeros(4)):
        loop(values)
    ((name, found),) = module.recorded.items()
    assert name.endswith(".double")
    assert len(found) == 2


INDEX = """
import sys
import numpy as np
from tests.collectors.compilation.test_compiled import total
for kind in sys.argv[1:]:
    total(np.dtype(kind).type(5))
"""


def test_processes_that_compile_side_by_side_keep_all_code(tmp_path):
    kinds = ("int8", "int16", "int32", "uint8", "uint16", "uint32")
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    running = [subprocess.Popen([sys.executable, "-c", INDEX, kind], env=environment, cwd=ROOT) for kind in kinds]
    assert [process.wait() for process in running] == [0] * len(kinds)
    assert len(list(tmp_path.rglob("test_compiled.total-*.nbc"))) == len(kinds)
