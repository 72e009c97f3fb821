from __future__ import annotations

import struct
from pathlib import Path

import pytest

from collectors.captures.pcap import read
from tests.collectors.builders.captures import (
    START,
    block,
    enhanced,
    expected,
    interface,
    option,
    pcapng,
    rows,
    saved,
    section,
)


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcapng_of_each_order(tmp_path: Path, order: str) -> None:
    capture = read(saved(tmp_path / "a", pcapng(order)))
    assert rows(capture) == expected()
    assert capture.warnings == []


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
def test_reading_continues_after_a_damaged_block(tmp_path: Path, wrong: bytes, batch_octets: int) -> None:
    before = section() + interface() + enhanced("<", 7, b"x", 1)
    after = enhanced("<", 8, b"y", 1) + interface() + enhanced("<", 9, b"z", 1, 1)
    capture = read(saved(tmp_path / "a", before + wrong + after), batch_octets=batch_octets)
    assert rows(capture) == [(1, 7000, b"x", 1), (1, 8000, b"y", 1), (1, 9000, b"z", 1)]
    (warning,) = capture.warnings
    assert f": offset {len(before)}: " in warning
    assert warning.endswith(f"; {len(wrong)} octets skipped, reading continues at offset {len(before + wrong)}")
    assert capture.skipped.total() == 1


@pytest.mark.parametrize("batch_octets", [1, 1 << 20])
def test_what_follows_damage_and_is_no_block_is_not_read(tmp_path: Path, batch_octets: int) -> None:
    before = section() + interface() + enhanced("<", 7, b"x", 1)
    capture = read(saved(tmp_path / "a", before + b"\x06" * 5000), batch_octets=batch_octets)
    assert rows(capture) == [(1, 7000, b"x", 1)]
    (warning,) = capture.warnings
    assert f": offset {len(before)}: damaged block of type 0x6060606" in warning
    assert warning.endswith("; no valid one follows, the rest of the file is not read")
