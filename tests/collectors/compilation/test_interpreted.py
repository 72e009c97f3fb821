import threading
import warnings

import numpy as np
import pytest

from collectors.compilation import primitives
from collectors.compilation._interpreted import Rows, interpret, plain
from collectors.compilation.compiled import compiled
from collectors.compilation.primitives import hashed, octet, store_octet

ROW = np.dtype([("wide", np.uint64), ("narrow", np.uint8), ("signed", np.int64)], align=True)


@compiled
def bumped(row, by):
    row.wide += by
    row.narrow += 1


@compiled
def visit(rows, by, pair):
    total = np.int64(0)
    for i in range(len(rows)):
        bumped(rows[i], by)
        rows[i].signed = rows[i].narrow * 2
        total += rows[i].signed
    pair[0][0] = pair[1][0].narrow
    return total


def given():
    rows = np.zeros(3, ROW)
    rows["wide"], rows["narrow"] = np.uint64(2**64 - 1), (1, 2, 3)
    return rows, np.uint64(3), (np.zeros(1, np.int64), np.full(1, 7, ROW))


def test_an_interpreted_loop_does_what_the_compiled_one_does():
    once, again = given(), given()
    assert interpret(visit.py_func, once, {}) == visit(*again)
    for one, other in zip((once[0], *once[2]), (again[0], *again[2]), strict=True):
        assert np.array_equal(one, other)


def test_integers_wrap_around_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        large = np.uint64(2**63 + 5)
        assert int(interpret(hashed.py_func, (large, large, large), {})) == int(hashed(large, large, large))


def test_threads_wait_for_a_twin_that_another_one_makes():
    making, go_on = threading.Event(), threading.Event()

    class Slow:
        @property
        def py_func(self):
            making.set()
            assert go_on.wait(30)
            return visit.py_func

    module = {"slow": Slow(), "inner": visit, "__builtins__": __builtins__}
    exec("def outer(): return inner\ndef beside(): return inner", module)
    found = []
    one = threading.Thread(target=lambda: plain(module["outer"]))
    other = threading.Thread(target=lambda: found.append(plain(module["beside"])()))
    one.start()
    assert making.wait(30)
    other.start()
    other.join(0.1)
    go_on.set()
    one.join()
    other.join()
    assert found == [plain(visit.py_func)]


def test_rows_are_read_once_and_written_back_narrow():
    array = np.zeros(4, ROW)
    rows = Rows(array)
    rows[2].narrow = 256 + 5
    rows[3] = rows[2]
    assert rows[np.uint64(2)] is rows[2]
    assert len(rows) == len(list(rows)) == 4
    rows.store()
    assert array["narrow"].tolist() == [0, 0, 5, 5]


def test_twins_call_twins():
    assert plain(visit.py_func).__globals__["bumped"] is plain(bumped.py_func)
    assert plain(visit.py_func) is plain(visit.py_func)


def test_instructions_have_a_twin():
    buffer = np.array([1, 2, 3], np.uint8)
    store_octet.plain_twin(buffer.ctypes.data + 1, 0x1FF)
    assert octet.plain_twin(buffer.ctypes.data + 1) == 255


def test_an_error_inside_still_writes_back():
    rows = np.zeros(1, ROW)

    def failing(given):
        given[0].narrow = 9
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interpret(failing, (rows,), {})
    assert rows["narrow"][0] == 9


@compiled
def through_a_module(address):
    return primitives.octet(address) + primitives.number(address, True)


def test_loops_of_another_module_are_found_by_way_of_the_module():
    buffer = np.arange(1, 9, dtype=np.uint8)
    assert interpret(through_a_module.py_func, (buffer.ctypes.data,), {}) == through_a_module(buffer.ctypes.data) == 0x01020305
