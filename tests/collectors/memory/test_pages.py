import numpy as np
import pytest

from collectors.memory.pages import LINE, PAGE, aligned, large, lengthened


def test_memory_for_few_and_for_many_is_zeros_to_be_written():
    for size in (0, 5, PAGE // 8, PAGE // 8 + 1):
        room = large(size, np.dtype(np.int64))
        assert len(room) == size
        assert not room.any()
        room[:] = 1


def test_rows_begin_where_a_line_of_the_cache_begins():
    for size in (1, 7):
        room = aligned(size, np.dtype([("a", np.int64, 8)]))
        assert (len(room), room.ctypes.data % LINE) == (size, 0)


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("kind", [np.uint64, np.dtype([("a", np.int64, 7), ("b", np.int32)], align=True)])
def test_an_array_is_lengthened_in_place(kind, shape):
    array, places = np.zeros((0, *shape), kind), []
    for size in (1, 10, 10_000, 50_000, 60_000, 500_000, 1_000_000):
        longer = lengthened(array, size)
        before = len(array)
        assert longer.shape == (size, *shape)
        assert longer[:before].tobytes() == array.tobytes()
        assert not longer[before:].view(np.uint8).any()
        longer[before:].view(np.uint8)[:] = size % 251
        array = longer
        places.append(array.ctypes.data)
    assert places[-1] % PAGE == 0
    assert len(set(places[-2:])) == 1


def test_memory_that_is_not_there_is_an_error():
    with pytest.raises(MemoryError):
        lengthened(np.zeros(1 << 20, np.uint64), 1 << 50)
