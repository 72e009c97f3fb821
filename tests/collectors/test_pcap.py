from __future__ import annotations

import gzip
import io
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.utils import PcapNgWriter, PcapWriter

from collectors.packet import DecodeError
from collectors.pcap import Batch, Capture, read, write

START = 1_795_214_542_677_184_076
PACKETS = [(START + 1000 * i, bytes([i % 256]) * (14 + 7 * i % 50), 1000 + i) for i in range(40)]
Row = tuple[int, int, bytes, int]


def rows(capture: Capture) -> list[Row]:
    """Link type, time, frame, wire length of every packet."""
    found = []
    for batch in capture:
        columns = (batch.link_type, batch.time_ns, batch.offset, batch.captured, batch.wire)
        for link_type, time_ns, offset, captured, wire in zip(*(c.tolist() for c in columns), strict=True):
            found.append((link_type, time_ns, batch.data[offset : offset + captured], wire))
    assert capture.packets == len(found)
    return found


def expected(unit: int = 1, link_type: int = 1) -> list[Row]:
    return [(link_type, t // unit * unit, frame, wire) for t, frame, wire in PACKETS]


def pcap(order: str = "<", magic: int = 0xA1B23C4D, *, snaplen: int = 65535, link_type: int = 1, extra: bytes = b"") -> bytes:
    unit = 1 if magic == 0xA1B23C4D else 1000
    out = [struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, snaplen, link_type)]
    for time_ns, frame, wire in PACKETS:
        seconds, rest = divmod(time_ns, 10**9)
        out.append(struct.pack(order + "IIII", seconds, rest // unit, len(frame), wire) + extra + frame)
    return b"".join(out)


def block(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + length + body + length


def section(order: str = "<") -> bytes:
    return block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order: str = "<", *, link_type: int = 1, snaplen: int = 0, options: bytes = b"") -> bytes:
    return block(order, 1, struct.pack(order + "HHI", link_type, 0, snaplen) + options)


def option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def enhanced(order: str, ticks: int, frame: bytes, wire: int, number: int = 0) -> bytes:
    head = struct.pack(order + "IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), wire)
    return block(order, 6, head + frame)


def pcapng(order: str = "<") -> bytes:
    nanoseconds = option(order, 9, b"\x09") + option(order, 0, b"")
    out = [section(order), block(order, 10, b"secret" * 9), interface(order, options=nanoseconds)]
    for time_ns, frame, wire in PACKETS:
        out.append(enhanced(order, time_ns, frame, wire))
        if wire % 3 == 0:
            out.append(block(order, 0x0BAD, b"unknown"))
    return b"".join(out)


def saved(path: Path, octets: bytes) -> Path:
    path.write_bytes(octets)
    return path


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "gzip, two members": lambda octets: gzip.compress(octets[:500]) + gzip.compress(octets[500:]) + bytes(512),
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
    "zstd, two frames": lambda octets: (
        b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstandard.compress(octets[:500]) + zstandard.compress(octets[500:])
    ),
    "both": lambda octets: gzip.compress(zstandard.compress(octets)),
}


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "unit"), [(0xA1B2C3D4, 1000), (0xA1B23C4D, 1)])
def test_pcap_of_each_order_and_unit(tmp_path: Path, order: str, magic: int, unit: int) -> None:
    capture = read(saved(tmp_path / "a", pcap(order, magic, link_type=101)))
    assert rows(capture) == expected(unit, 101)
    assert capture.warnings == []


def test_pcap_with_longer_record_headers(tmp_path: Path) -> None:
    assert rows(read(saved(tmp_path / "a", pcap(">", 0xA1B2CD34, extra=bytes(8))))) == expected(1000)


def test_the_upper_bits_of_the_link_type_say_something_else(tmp_path: Path) -> None:
    assert rows(read(saved(tmp_path / "a", pcap(link_type=0x5400_0001)))) == expected()


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcapng_of_each_order(tmp_path: Path, order: str) -> None:
    capture = read(saved(tmp_path / "a", pcapng(order)))
    assert rows(capture) == expected()
    assert capture.warnings == []


@pytest.mark.parametrize("name", COMPRESSIONS)
@pytest.mark.parametrize("octets", [pcap(), pcapng()], ids=["pcap", "pcapng"])
@pytest.mark.parametrize("batch_octets", [1, 700, 1 << 22])
def test_compression_is_told_by_content(tmp_path: Path, name: str, octets: bytes, batch_octets: int) -> None:
    capture = read(saved(tmp_path / "a.txt", COMPRESSIONS[name](octets)), batch_octets=batch_octets)
    assert rows(capture) == expected()
    assert capture.warnings == []


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(gzip.compress(pcap())))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert rows(read("-")) == expected()
    assert not stdin.closed
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(DecodeError, match="standard input: empty"):
        read("-")


@pytest.mark.parametrize("suffix", ["pcap", "pcap.gz", "pcap.zst"])
@pytest.mark.parametrize("nanosecond", [True, False])
def test_what_is_written_is_read(tmp_path: Path, suffix: str, nanosecond: bool) -> None:
    path = tmp_path / f"a.{suffix}"
    assert write(path, iter(PACKETS), nanosecond=nanosecond, link_type=113) == len(PACKETS)
    assert rows(read(path)) == expected(1 if nanosecond else 1000, 113)
    assert path.read_bytes()[:2] == {"pcap": b"\x4d\x3c" if nanosecond else b"\xd4\xc3", "pcap.gz": b"\x1f\x8b"}.get(
        suffix, b"\x28\xb5"
    )


def test_write_cuts_to_snaplen_and_refuses_times(tmp_path: Path) -> None:
    write(tmp_path / "a", PACKETS, snaplen=20)
    assert rows(read(tmp_path / "a")) == [(1, t, frame[:20], wire) for t, frame, wire in PACKETS]
    for time_ns in (-1, 2**32 * 10**9):
        with pytest.raises(ValueError, match="does not fit"):
            write(tmp_path / "a", [(time_ns, b"", 0)])


@pytest.mark.parametrize("writer", [PcapWriter, PcapNgWriter])
def test_scapy_writes_what_we_read(tmp_path: Path, writer: type[PcapWriter] | type[PcapNgWriter]) -> None:
    built = [Ether() / IP(dst="10.0.0.9") / TCP() / (bytes([i]) * i) for i in range(9)]
    for i, layers in enumerate(built):
        layers.time = 1000 + i
    with writer(str(tmp_path / "a")) as file:
        file.write(built)
    assert rows(read(tmp_path / "a")) == [(1, (1000 + i) * 10**9, bytes(p), len(p)) for i, p in enumerate(built)]


def test_sections_with_interfaces_of_their_own(tmp_path: Path) -> None:
    """Two sections of different order; in the first two interfaces of different link type, unit and offset."""
    micro, binary = interface(">", link_type=101), option(">", 9, b"\x8a") + option(">", 14, struct.pack(">q", -5))
    octets = section(">") + micro + interface(">", link_type=113, options=binary)
    octets += enhanced(">", 7, b"one", 3, 0) + enhanced(">", 3 * 1024 + 512, b"two", 99, 1) + enhanced(">", 8, b"three", 5, 0)
    octets += section("<") + interface("<", link_type=228) + enhanced("<", 9, b"four", 4, 0)
    found = [
        (101, 7_000, b"one", 3),
        (113, -1_500_000_000, b"two", 99),
        (101, 8_000, b"three", 5),
        (228, 9_000, b"four", 4),
    ]
    for batch_octets in (1, 1 << 20):
        capture = read(saved(tmp_path / "a", octets), batch_octets=batch_octets)
        assert rows(capture) == found
        assert capture.warnings == []


@pytest.mark.parametrize(
    ("resolution", "ticks", "time_ns"),
    [
        (0, 5, 5_000_000_000),
        (3, 5, 5_000_000),
        (6, START // 1000, START // 1000 * 1000),
        (9, START, START),
        (12, 5_999, 5),
        (40, 2**64 - 1, 0),
        (0x80, 5, 5_000_000_000),
        (0x80 + 20, 3 << 19, 1_500_000_000),
        (0x80 + 34, 3 << 33, 1_500_000_000),
        (0x80 + 60, 3 << 59, 1_500_000_000),
        (0x80 + 60, 2**60 - 1, 999_999_999),
        (0x80 + 64, 3 << 62, 750_000_000),
        (0x80 + 127, 2**64 - 1, 0),
    ],
)
def test_units_of_time(tmp_path: Path, resolution: int, ticks: int, time_ns: int) -> None:
    octets = section() + interface(options=option("<", 9, bytes([resolution]))) + enhanced("<", ticks, b"x", 1)
    assert rows(read(saved(tmp_path / "a", octets))) == [(1, time_ns, b"x", 1)]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("batch_octets", [1, 1 << 20])
def test_simple_and_obsolete_packets(tmp_path: Path, order: str, batch_octets: int) -> None:
    """A simple packet has the time of the packet before and is cut by the snap length of the first interface."""
    octets = section(order) + interface(order, snaplen=10) + interface(order, link_type=101)
    octets += block(order, 3, struct.pack(order + "I", 4) + b"none") + enhanced(order, 7, b"one", 3)
    octets += block(order, 3, struct.pack(order + "I", 3) + b"two") + block(order, 3, struct.pack(order + "I", 99) + b"x" * 12)
    octets += block(order, 2, struct.pack(order + "HHIIII", 1, 65535, 0, 9, 5, 55) + b"three")
    found = [
        (1, 0, b"none", 4),
        (1, 7000, b"one", 3),
        (1, 7000, b"two", 3),
        (1, 7000, b"x" * 10, 99),
        (101, 9000, b"three", 55),
    ]
    capture = read(saved(tmp_path / "a", octets), batch_octets=batch_octets)
    assert rows(capture) == found
    assert capture.warnings == []


@pytest.mark.parametrize(
    "options", [b"\x09\x00", option("<", 9, b""), option("<", 14, b"1234"), b"\x09\x00\xff\xff\x06\x00\x00\x00"]
)
def test_broken_options_of_an_interface_are_left_out(tmp_path: Path, options: bytes) -> None:
    octets = section() + interface(options=options) + enhanced("<", 7, b"x", 1)
    assert rows(read(saved(tmp_path / "a", octets))) == [(1, 7000, b"x", 1)]


@pytest.mark.parametrize("name", ["plain", "gzip", "zstd"])
@pytest.mark.parametrize("octets", [pcap(), pcapng()], ids=["pcap", "pcapng"])
def test_cut_off_anywhere(tmp_path: Path, name: str, octets: bytes) -> None:
    """All that is complete is there, with a warning unless the cut falls between two records."""
    packed, path, known = COMPRESSIONS[name](octets), tmp_path / "a", expected()
    with pytest.raises(DecodeError, match="empty"):
        read(saved(path, b""))
    between = 0
    for size in range(1, len(packed)):
        capture = read(saved(path, packed[:size]), batch_octets=256)
        found = rows(capture)
        assert found == known[: len(found)]
        assert len(capture.warnings) <= 1
        between += not capture.warnings
        for warning in capture.warnings:
            assert warning.startswith(f"{path}: ")
            assert "at offset" in warning
        if name == "plain":
            assert len(found) == sum(end <= size for end in ends(octets))
    assert between <= (2 * len(PACKETS) if name == "plain" else 0)


def ends(octets: bytes) -> list[int]:
    """Where each packet of `pcap()` or `pcapng()` ends."""
    found, at = [], 0 if octets.startswith(b"\x0a\x0d") else 24
    while at < len(octets):
        if octets.startswith(b"\x0a\x0d"):
            kind, length = struct.unpack_from("<II", octets, at)
            at += length
            found += [at] * (kind == 6)
        else:
            at += 16 + struct.unpack_from("<I", octets, at + 8)[0]
            found.append(at)
    return found


def test_the_warning_names_file_and_offset(tmp_path: Path) -> None:
    path = saved(tmp_path / "leaf0.pcap", pcap()[:-1])
    capture = read(path)
    assert len(rows(capture)) == len(PACKETS) - 1
    assert capture.warnings == [f"{path}: cut off in the packet record at offset {ends(pcap())[-2]}"]


@pytest.mark.parametrize("claimed", [2**32 - 1, 2**31, 65536 * 5])
@pytest.mark.parametrize("batch_octets", [1, 1 << 20])
def test_a_damaged_record_stops_the_reading(tmp_path: Path, claimed: int, batch_octets: int) -> None:
    octets, at = bytearray(pcap()), ends(pcap())[9]
    octets[at + 8 : at + 12] = struct.pack("<I", claimed)
    capture = read(saved(tmp_path / "a", bytes(octets) + bytes(400_000)), batch_octets=batch_octets)
    assert rows(capture) == expected()[:10]
    assert capture.warnings == [f"{tmp_path / 'a'}: damaged packet record of {claimed} octets at offset {at}: read no further"]


def test_an_impossible_fraction_of_a_second_is_damage(tmp_path: Path) -> None:
    octets, at = bytearray(pcap()), ends(pcap())[9]
    octets[at + 4 : at + 8] = struct.pack("<I", 10**9 + 1)
    capture = read(saved(tmp_path / "a", bytes(octets)))
    assert rows(capture) == expected()[:10]
    assert f"at offset {at}" in capture.warnings[0]


@pytest.mark.parametrize(
    "wrong",
    [
        enhanced("<", 7, b"x", 1, number=1),
        enhanced("<", 7, b"x", 1)[:-4] + struct.pack("<I", 40),
        block("<", 6, struct.pack("<IIIII", 0, 0, 7, 5, 5) + b"four"),
        block("<", 6, bytes(16)),
        block("<", 3, b""),
        struct.pack("<II", 6, 0) + bytes(40),
        struct.pack("<II", 6, 37) + bytes(40),
        struct.pack("<II", 6, 2**32 - 4) + bytes(40),
        struct.pack("<III", 0x0A0D0D0A, 28, 0) + bytes(40),
    ],
)
@pytest.mark.parametrize("batch_octets", [1, 1 << 20])
def test_a_damaged_block_stops_the_reading(tmp_path: Path, wrong: bytes, batch_octets: int) -> None:
    before = section() + interface() + enhanced("<", 7, b"x", 1)
    capture = read(saved(tmp_path / "a", before + wrong + enhanced("<", 7, b"x", 1)), batch_octets=batch_octets)
    assert rows(capture) == [(1, 7000, b"x", 1)]
    (warning,) = capture.warnings
    assert f"at offset {len(before)}: read no further" in warning


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


@pytest.mark.parametrize(
    ("octets", "message"),
    [
        (b"Not a capture", "not a capture: starts with 4e 6f 74 20"),
        (b"N", "not a capture: starts with 4e"),
        (b"", "empty"),
        (gzip.compress(b""), "empty"),
        (gzip.compress(b"Not a capture"), "not a capture: starts with 4e 6f 74 20"),
        (b"\x0a\x0d\x0d\x0a" * 9, "not a capture: starts with 0a 0d 0d 0a"),
        (b"\x1f\x8b" + bytes(30), "cannot be read: "),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 30, "cannot be read: "),
    ],
)
def test_what_is_no_capture_is_refused(tmp_path: Path, octets: bytes, message: str) -> None:
    path = saved(tmp_path / "leaf0.pcap", octets)
    with pytest.raises(DecodeError) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path}: {message}")
    assert "\n" not in str(raised.value)


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    for path, message in ((tmp_path, "is a directory"), (tmp_path / "none", "no such file"), ("a\0b", "null byte")):
        with pytest.raises(DecodeError, match=message):
            read(path)


@given(st.binary(max_size=300), st.sampled_from(("", "pcap", "pcapng", "gzip", "zstd")), st.sampled_from((1, 64, 1 << 16)))
def test_arbitrary_octets_after_any_beginning(
    tmp_path_factory: pytest.TempPathFactory, octets: bytes, beginning: str, batch_octets: int
) -> None:
    begin = {"pcap": pcap()[:200], "pcapng": pcapng()[:300], "gzip": gzip.compress(pcap())[:99]}
    begin["zstd"] = zstandard.compress(pcap())[:99]
    path = saved(tmp_path_factory.getbasetemp() / "arbitrary", begin.get(beginning, b"") + octets)
    try:
        rows(read(path, batch_octets=batch_octets))
    except DecodeError:
        assert beginning in ("", "gzip", "zstd")


@given(st.data(), st.sampled_from((pcap(), pcapng())), st.sampled_from((1, 64, 1 << 16)))
def test_flipped_octets(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, sound: bytes, batch_octets: int) -> None:
    octets = bytearray(sound)
    for at in data.draw(st.lists(st.integers(28, len(sound) - 1), max_size=5)):
        octets[at] = data.draw(st.integers(0, 255))
    path = saved(tmp_path_factory.getbasetemp() / "flipped", bytes(octets))
    assert rows(read(path, batch_octets=batch_octets)) == rows(read(path))


def test_a_batch_of_frames() -> None:
    batch = Batch.of([(5, b"abc", 9), (6, b"", 8), (7, b"de", 7)], link_type=101)
    assert len(batch) == 3
    assert batch.offset.tolist() == [0, 3, 3]
    assert batch.captured.tolist() == [3, 0, 2]
    assert (batch.wire == [9, 8, 7]).all()
    assert (batch.link_type == 101).all()
    assert len(Batch.of([])) == 0
    assert batch.time_ns.dtype == np.int64


def test_a_capture_can_be_left_early(tmp_path: Path) -> None:
    with read(saved(tmp_path / "a", pcap()), batch_octets=64) as capture:
        assert len(next(iter(capture))) > 0
