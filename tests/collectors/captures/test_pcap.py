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

from collectors.captures.pcap import Writer, read, write
from collectors.packets.plain_decoder import DecodeError
from tests.collectors.builders.captures import (
    COMPRESSIONS,
    PACKETS,
    START,
    ends,
    enhanced,
    expected,
    interface,
    option,
    pcap,
    pcapng,
    rows,
    saved,
    section,
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
    with pytest.raises(DecodeError, match="standard input: the file is empty"):
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
        with pytest.raises(ValueError, match="from 1970 to 2106"):
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
            assert ": offset " in warning
        if name == "plain":
            assert len(found) == sum(end <= size for end in ends(octets))
    assert between <= (2 * len(PACKETS) if name == "plain" else 0)


REST, UNREAD = "the records before it were read", "the rest of the file is not read"


def test_the_warning_names_file_and_offset(tmp_path: Path) -> None:
    path = saved(tmp_path / "leaf0.pcap", pcap()[:-1])
    capture = read(path)
    assert len(rows(capture)) == len(PACKETS) - 1
    assert capture.warnings == [f"{path}: offset {ends(pcap())[-2]}: the file ends inside this packet record; {REST}"]


@pytest.mark.parametrize("claimed", [2**32 - 1, 2**31, 65536 * 5, 200_000, 999, 1, 0])
@pytest.mark.parametrize("batch_octets", [1, 1 << 20])
@pytest.mark.parametrize("tail", [b"", bytes(400_000)])
def test_reading_goes_on_behind_a_damaged_length(tmp_path: Path, claimed: int, batch_octets: int, tail: bytes) -> None:
    """A length that a packet may have is corrected where it is too long. One that is longer than any may be is skipped."""
    octets, at = bytearray(pcap()), ends(pcap())[9]
    octets[at + 8 : at + 12] = struct.pack("<I", claimed)
    capture = read(saved(tmp_path / "a", bytes(octets) + tail), batch_octets=batch_octets)
    possible, (link_type, time_ns, frame, wire) = claimed <= 262_144, expected()[10]
    damaged = [(link_type, time_ns, frame[:claimed], wire)] if possible else []
    assert rows(capture) == [*expected()[:10], *damaged, *expected()[11:]]
    assert capture.skipped["damaged packet record"] == (claimed < 2 or not possible) + (tail != b"")
    what = "damaged packet record" if claimed < 2 or not possible else "damaged length of a packet record"
    assert capture.warnings[0].startswith(f"{tmp_path / 'a'}: offset {at + (16 + claimed) * (claimed < 2)}: {what}")
    assert f"reading continues at offset {ends(pcap())[10]}" in capture.warnings[0] or what.endswith("a packet record")


def test_what_follows_damage_and_is_no_record_is_not_read(tmp_path: Path) -> None:
    octets, at = bytearray(pcap()[: ends(pcap())[9]]), ends(pcap())[9]
    capture = read(saved(tmp_path / "a", bytes(octets) + b"\xff" * 5000))
    assert rows(capture) == expected()[:10]
    what = f"damaged packet record of {2**32 - 1:,} octets; no valid one follows, the rest of the file is not read"
    assert capture.warnings == [f"{tmp_path / 'a'}: offset {at}: {what}"]
    assert capture.skipped == {"damaged packet record": 1}


@pytest.mark.parametrize("batch_octets", [1, 1 << 20])
@pytest.mark.parametrize("which", [{0}, {9}, {9, 10, 11}, set(range(40)), {39}])
def test_an_impossible_fraction_of_a_second_is_left_out(tmp_path: Path, which: set[int], batch_octets: int) -> None:
    """The whole second counts, or the packet before in the same second."""
    octets, places = bytearray(pcap()), [24, *ends(pcap())]
    for k in which:
        octets[places[k] + 4 : places[k] + 8] = struct.pack("<I", 4 * 10**9 + 1)
    capture, wanted = read(saved(tmp_path / "a", bytes(octets)), batch_octets=batch_octets), list[tuple[int, int, bytes, int]]()
    for k, row in enumerate(expected()):
        before = wanted[-1][1] if wanted else row[1] // 10**9 * 10**9
        wanted.append((row[0], before if k in which else row[1], *row[2:]))
    assert rows(capture) == wanted
    what = f"{len(which)} packet{'s'[: len(which) - 1]} with a fraction of a second over one second"
    assert capture.warnings == [f"{tmp_path / 'a'}: {what}; read with a corrected time"]


@pytest.mark.parametrize("batch_octets", [1, 1 << 20])
@pytest.mark.parametrize("name", ["pcap", "pcapng"])
@pytest.mark.parametrize("which", [{0}, {9}, {9, 10}, {39}, {3, 5, 7, 20}])
@pytest.mark.parametrize("years", [-40, 1, 40])
def test_a_clock_that_jumps_and_comes_back(tmp_path: Path, name: str, which: set[int], years: int, batch_octets: int) -> None:
    """A time far from the packets before and after is corrected; at the end of the file nothing says that it is wrong."""
    jump = years * 31_536_000
    path, octets = tmp_path / "a", bytearray(pcap() if name == "pcap" else pcapng())
    for k in which:
        if name == "pcap":
            at = [24, *ends(pcap())][k]
            octets[at : at + 4] = struct.pack("<I", struct.unpack_from("<I", octets, at)[0] + jump)
        else:
            at = ends(pcapng())[k] - struct.unpack_from("<I", octets, ends(pcapng())[k] - 4)[0] + 12
            ticks = PACKETS[k][0] + jump * 10**9
            octets[at : at + 8] = struct.pack("<II", ticks >> 32, ticks & 0xFFFFFFFF)
    capture = read(saved(path, bytes(octets)), batch_octets=batch_octets)
    found = rows(capture)
    assert [row[2:] for row in found] == [row[2:] for row in expected()]
    times = [time_ns for _, time_ns, _, _ in found]
    if which != {39}:
        assert max(times) - min(times) < 10**9
        packets = f"{len(which)} packet{'s'[: len(which) - 1]}"
        what = "with a time more than a day from that of the packets before and after; read with a corrected time"
        assert capture.warnings == [f"{path}: {packets} {what}"]


@pytest.mark.parametrize("batch_octets", [1, 1 << 20])
@pytest.mark.parametrize("name", ["pcap", "pcapng"])
def test_a_clock_that_is_set_for_good_is_right(tmp_path: Path, name: str, batch_octets: int) -> None:
    times = [START + (k >= 20) * 40 * 31_536_000 * 10**9 + k for k in range(40)]
    if name == "pcap":
        write(tmp_path / "a", [(time_ns, b"x", 1) for time_ns in times])
    else:
        head = section() + interface(options=option("<", 9, b"\x09"))
        saved(tmp_path / "a", head + b"".join(enhanced("<", time_ns, b"x", 1) for time_ns in times))
    capture = read(tmp_path / "a", batch_octets=batch_octets)
    assert [row[1] for row in rows(capture)] == times
    assert capture.warnings == []


@pytest.mark.parametrize("name", ["pcap", "pcapng"])
def test_damage_at_many_places_has_few_lines(tmp_path: Path, name: str) -> None:
    one = pcap() if name == "pcap" else pcapng()
    begin = 24 if name == "pcap" else ends(one)[0]
    octets, places = one[:begin], 50
    body = one[begin : ends(one)[9]]
    capture = read(saved(tmp_path / "a", octets + (body + b"\xff" * 40) * places + body))
    many = 10 * (places + 1) if name == "pcap" else 9 * (places + 1) + 1
    assert len(rows(capture)) == many
    assert len(capture.warnings) == 6
    assert capture.warnings[-1].endswith(f"damage at {places - 5} more places, {40 * (places - 5):,} octets skipped")
    assert capture.skipped.total() == places


def test_an_offset_in_a_compressed_capture_says_so(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.pcap.gz", gzip.compress(pcap()[:-1]))
    capture = read(path)
    rows(capture)
    place = f"{path}: offset {ends(pcap())[-2]} of the uncompressed data"
    assert capture.warnings == [f"{place}: the file ends inside this packet record; {REST}"]


@pytest.mark.parametrize(
    ("octets", "message"),
    [
        (b"Not a capture", "neither a capture nor a file of flow records (starts with 4e 6f 74 20"),
        (b"N", "neither a capture nor a file of flow records (starts with 4e"),
        (b"", "the file is empty"),
        (gzip.compress(b""), "the file is empty"),
        (gzip.compress(b"Not a capture"), "neither a capture nor a file of flow records (starts with 4e 6f 74 20"),
        (b"\x0a\x0d\x0d\x0a" * 9, "neither a capture nor a file of flow records (starts with 0a 0d 0d 0a"),
        (b"\x1f\x8b" + bytes(30), "offset 0 of the uncompressed data: cannot be read: invalid "),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 30, "offset 0 of the uncompressed data: cannot be read: invalid "),
    ],
)
def test_an_invalid_capture_is_refused(tmp_path: Path, octets: bytes, message: str) -> None:
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
    with Writer(tmp_path / "a.pcap") as file, pytest.raises(ValueError, match="from 1970 to 2106"):
        file.add(np.array([time_ns]), np.zeros((1, 20), np.uint8), np.array([20]), np.array([20]))
