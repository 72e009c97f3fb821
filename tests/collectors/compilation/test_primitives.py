import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.compilation.primitives import (
    compiled,
    double,
    hashed,
    long,
    number,
    octet,
    short,
    soon,
    store_double,
    store_long,
    store_octet,
    store_short,
)


@compiled
def loaded(at):
    return octet(at), short(at), long(at), double(at), number(at, True), number(at, False)


@compiled
def mixed(a, b, seed):
    return hashed(a, b, seed)


@given(st.binary(min_size=8, max_size=20))
def test_numbers_are_what_struct_unpacks(octets):
    buffer = np.frombuffer(octets, np.uint8)
    expected = [struct.unpack_from(layout, octets)[0] for layout in ("B", ">H", ">I", ">Q", ">I", "<I")]
    assert list(loaded(buffer.ctypes.data)) == expected


@compiled
def stored(at, value):
    soon(at)
    store_octet(at, value)
    store_short(at + 1, value)
    store_long(at + 3, value)
    store_double(at + 7, value)


@given(st.integers(0, (1 << 64) - 1))
def test_numbers_are_stored_as_far_as_there_is_room(value):
    buffer = np.zeros(17, np.uint8)
    stored(buffer.ctypes.data, np.uint64(value))
    expected = b"".join((value % (1 << 8 * size)).to_bytes(size, "little") for size in (1, 2, 4, 8))
    assert buffer.tobytes() == expected + bytes(2)


def test_the_hash_distinguishes_pairs_and_depends_on_its_seed():
    pairs = [(np.uint64(a), np.uint64(b)) for a in range(100) for b in range(100)]
    for seed in (np.uint64(0), np.uint64(2**64 - 1)):
        assert len({mixed(*pair, seed) >> 32 for pair in pairs}) > 0.999 * len(pairs)
    assert mixed(*pairs[7], np.uint64(1)) != mixed(*pairs[7], np.uint64(2))
