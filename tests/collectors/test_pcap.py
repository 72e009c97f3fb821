from __future__ import annotations

import gzip
import io
import struct
import sys
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
from collectors.pcap import Writer, read, write
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


def test_a_capture_can_be_left_early(tmp_path: Path) -> None:
    with read(saved(tmp_path / "a", pcap()), batch_octets=64) as capture:
        assert len(next(iter(capture))) > 0


@pytest.mark.parametrize("suffix", ["pcap", "pcap.gz", "pcap.zst"])
def test_many_frames_at_once(tmp_path: Path, suffix: str) -> None:
    path, octets = tmp_path / f"a.{suffix}", np.arange(60, dtype=np.uint8).reshape(3, 20)
    times, captured, wire = np.array([5, 6, 10**9 + 7]), np.array([20, 9, 20]), np.array([20, 9, 4000])
    with Writer(path) as file:
        file.add(times, octets, captured, wire)
        file.add(times[:0], octets[:0], captured[:0], wire[:0])
        file.add(times[:1] + 2 * 10**9, octets[:1], captured[:1], wire[:1])
        assert file.count == 4
    one = tmp_path / "b.pcap"
    packets = [(int(t), bytes(row[:n]), int(w)) for t, row, n, w in zip(times, octets, captured, wire, strict=True)]
    write(one, [*packets, (2 * 10**9 + 5, bytes(octets[0]), 20)])
    assert rows(read(path)) == rows(read(one))


@pytest.mark.parametrize("time_ns", [-1, 2**32 * 10**9])
def test_a_time_beyond_a_pcap_is_refused(tmp_path: Path, time_ns: int) -> None:
    with Writer(tmp_path / "a.pcap") as file, pytest.raises(ValueError, match="does not fit"):
        file.add(np.array([time_ns]), np.zeros((1, 20), np.uint8), np.array([20]), np.array([20]))
