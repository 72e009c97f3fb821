from __future__ import annotations

import gzip
import io
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.captures.pcap import read
from collectors.files.compression import Stream, Unpacked, decompress, open_octets
from collectors.packets.frame_batch import PAD
from tests.collectors.builders.captures import (
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
def test_compression_is_identified_by_content(tmp_path: Path, name: str, octets: bytes, batch_octets: int) -> None:
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
        assert len(capture.warnings) == 1 or at == len(sound) // 2  # what is unpacked wrongly has damage of its own
        assert any("offset " in warning and "damage" in warning for warning in capture.warnings)


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
    assert b"".join(decompress(pieces)) == plain


def window(stream: Stream) -> bytes:
    assert len(stream.buffer) >= stream.end + len(PAD)
    return bytes(stream.buffer[: stream.end])


def test_a_window_forgets_and_grows() -> None:
    stream = Stream(Unpacked(iter([b"abc", b"def", b"", b"ghi"])))
    stream.advance(0, 4)
    assert (window(stream), stream.start, stream.ended) == (b"abcd", 0, False)
    stream.advance(3, 1)
    assert (window(stream), stream.start) == (b"d", 3)
    stream.advance(0, 99)
    assert (window(stream), stream.start) == (b"defghi", 3)
    assert stream.ended
    assert stream.damage is None


@given(st.binary(max_size=300), st.lists(st.integers(0, 40), max_size=20))
def test_a_window_shows_the_file(octets: bytes, needs: list[int]) -> None:
    stream, at = Stream(open_octets(io.BytesIO(octets))), 0
    for need in needs:
        used = min(need, stream.end)
        at += used
        stream.advance(used, need)
        assert stream.start == at
        assert window(stream) == octets[at : at + stream.end]
        assert stream.end >= need or stream.ended


def test_a_window_keeps_what_came_before_damage() -> None:
    stream = Stream(open_octets(io.BytesIO(gzip.compress(b"x" * 1000)[:-9])))
    stream.advance(0, 2000)
    assert stream.end > 0
    assert isinstance(stream.damage, EOFError)
