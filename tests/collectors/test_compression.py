from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.batch import PAD
from collectors.compression import Stream, unpacked
from collectors.pcap import read
from tests.collectors.captures import (
    COMPRESSIONS,
    PACKETS,
    ends,
    expected,
    pcap,
    pcapng,
    rows,
    saved,
)


@pytest.mark.parametrize("name", COMPRESSIONS)
@pytest.mark.parametrize("octets", [pcap(), pcapng()], ids=["pcap", "pcapng"])
@pytest.mark.parametrize("batch_octets", [1, 700, 1 << 22])
def test_compression_is_told_by_content(tmp_path: Path, name: str, octets: bytes, batch_octets: int) -> None:
    capture = read(saved(tmp_path / "a.txt", COMPRESSIONS[name](octets)), batch_octets=batch_octets)
    assert rows(capture) == expected()
    assert capture.warnings == []


def test_damage_in_a_gzip_stream_costs_nothing_before_it(tmp_path: Path) -> None:
    octets = pcap() + b"".join(pcap()[24:] for _ in range(200))
    sound = gzip.compress(octets)
    for at in (len(sound) - 6, len(sound) - 2, len(sound) // 2):  # CRC, length, somewhere
        packed = sound[:at] + bytes([sound[at] ^ 0xFF]) + sound[at + 1 :]
        capture = read(saved(tmp_path / "a.gz", packed))
        found = len(rows(capture))
        assert found == len(PACKETS) * 201 if at > len(sound) // 2 else found > 0
        (warning,) = capture.warnings
        assert "at offset" in warning


def test_damage_in_the_middle_of_a_gzip_stream_costs_nothing_before_it(tmp_path: Path) -> None:
    """A gzip that stores its octets as they are, in blocks of up to 65,535; the header of the fourth is damaged."""
    octets = pcap() + b"".join(pcap()[24:] for _ in range(200))
    stored = zlib.compressobj(0, wbits=31)
    packed = stored.compress(octets) + stored.flush()
    header, at, sound = 5, 10, 0
    for _ in range(3):
        (length,) = struct.unpack_from("<H", packed, at + 1)
        at, sound = at + header + length, sound + length
    capture = read(saved(tmp_path / "a.gz", packed[: at + 1] + b"\0\0\0\0" + packed[at + header :]))
    assert len(rows(capture)) == sum(end <= sound for end in ends(octets))
    assert "invalid stored block lengths" in capture.warnings[0]


def test_trailing_garbage_after_compressed_data_is_a_warning(tmp_path: Path) -> None:
    for name in ("gzip", "zstd"):
        capture = read(saved(tmp_path / "a", COMPRESSIONS[name](pcap()) + b"garbage"))
        assert rows(capture) == expected()
        assert len(capture.warnings) == 1


@given(st.lists(st.sampled_from(("gzip", "zstd")), max_size=3), st.binary(max_size=200), st.integers(1, 300))
def test_up_to_three_layers_in_pieces_of_any_size(layers: list[str], octets: bytes, size: int) -> None:
    plain = b"plain" + octets
    packed = plain
    for layer in layers:
        packed = COMPRESSIONS[layer](packed)
    pieces = (packed[at : at + size] for at in range(0, len(packed), size))
    assert b"".join(unpacked(pieces)) == plain


def test_a_window_forgets_and_grows() -> None:
    stream = Stream(iter([b"abc", b"def", b"ghi"]))
    stream.advance(0, 4)
    assert (stream.buffer, stream.start, stream.end, stream.ended) == (b"abcdef" + PAD, 0, 6, False)
    stream.advance(5, 1)
    assert (stream.buffer, stream.start, stream.end) == (b"f" + PAD, 5, 1)
    stream.advance(0, 99)
    assert (stream.buffer, stream.start, stream.end) == (b"fghi" + PAD, 5, 4)
    assert stream.ended
    assert stream.damage is None


def test_a_window_keeps_what_came_before_damage() -> None:
    stream = Stream(unpacked(iter([gzip.compress(b"x" * 1000)[:-9]])))
    stream.advance(0, 2000)
    assert stream.end > 0
    assert isinstance(stream.damage, EOFError)
