import gzip

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from collectors.files import text_blocks
from collectors.files.text_blocks import Blocks

TEXT = b"".join(b"line %d\n" % i for i in range(1000))


def pieces(octets, size):
    return iter([octets[i : i + size] for i in range(0, len(octets), size)])


@given(
    st.binary(max_size=60).map(lambda b: bytes(b"a\n\r\xef\xbb\xbf"[c % 6] for c in b)), st.integers(1, 9), st.integers(1, 40)
)
def test_lines_are_those_of_the_text(octets, chunk, size):
    found = list(Blocks(pieces(octets, chunk), size))
    expected = octets.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if expected and not expected.endswith(b"\n"):
        expected += b"\n"
    assert b"".join(block for _, block in found) == expected
    line = 1
    for at, block in found:
        assert at == line
        assert block.endswith(b"\n")
        line += block.count(b"\n")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress, lambda b: gzip.compress(zstandard.compress(b))])
def test_compression_is_taken_off(pack):
    packed = Blocks(pieces(pack(TEXT), 100), 512)
    assert b"".join(block for _, block in packed) == TEXT
    assert (packed.damage, packed.line) == ("", 1001)
    if pack is not bytes:
        cut = Blocks(pieces(pack(TEXT)[:-9], 100), 512)
        assert TEXT.startswith(b"".join(block for _, block in cut)[:-1])
        assert cut.damage


def test_a_line_that_does_not_end_is_left_out(monkeypatch):
    monkeypatch.setattr(text_blocks, "MAX_LINE", 100)
    found = Blocks(pieces(b"one\n" + b"x" * 5000 + b"\nthree\n" + b"y" * 500, 10), 50)
    lines = [(at + i, line) for at, block in found for i, line in enumerate(block.splitlines())]
    assert lines[:2] == [(1, b"one"), (3, b"three")]
    assert (found.long, found.first_long) == (2, 2)


def test_a_bomb_is_unpacked_in_bounded_memory():
    """A gigabyte of one line, from a megabyte: nothing of it is kept."""
    import tracemalloc

    member = gzip.compress(bytes(10_000_000), 6)
    tracemalloc.start()
    found = Blocks(pieces(member * 5, 1 << 16))
    assert list(found) == []
    assert tracemalloc.get_traced_memory()[1] < 40_000_000
    tracemalloc.stop()
    assert found.long == 1
