import numpy as np

from collectors.memory.pages import LINE, PAGE, aligned, large


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
