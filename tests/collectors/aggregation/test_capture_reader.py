"""A capture read on in by compiled code comes to the same as one in batches."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.mirror import Mirror, Mix
from collectors.aggregation import capture_reader
from collectors.aggregation.batch_decoder import Decoder, Undecoded
from collectors.captures import pcap
from tests.collectors.builders.captures import COMPRESSIONS, block, enhanced, interface, option, section
from tests.collectors.builders.frames import SAMPLES
from tests.collectors.flows.test_single_switch import MIRRORED, mirrored, of_readers

ROOT = Path(__file__).parents[3]


def both(path, *, switches=1, batch_octets=1 << 20):
    """What is known in the end of a file read on in, and of its batches; with warnings, and how many packets there were."""
    found = []
    for way in (capture_reader.read, lambda capture, decoder: map(decoder.unpack, capture)):
        captures = []

        def reader(decoder, way=way, captures=captures):
            captures.append(pcap.read(path, batch_octets=batch_octets))
            return way(captures[-1], decoder)

        told = of_readers(reader, switches=switches)
        found.append((told, [capture.warnings for capture in captures], [capture.packets for capture in captures]))
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    how=MIRRORED,
    cut=st.integers(0, 300),
    wrong=st.none() | st.integers(24, 100_000),
    octets=st.sampled_from([1, 1 << 20]),
)
def test_cut_off_and_damaged_anywhere(tmp_path, how, cut, wrong, octets):
    pcap.write(tmp_path / "a.pcap", mirrored(**how))
    content = bytearray((tmp_path / "a.pcap").read_bytes())
    content = content[: max(24, len(content) - cut)]
    if wrong is not None and wrong < len(content):
        content[wrong] ^= 0xFF
    (tmp_path / "a.pcap").write_bytes(content)
    ours, plain = both(tmp_path / "a.pcap", batch_octets=octets)
    assert ours == plain


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frames=st.lists(st.tuples(st.sampled_from(SAMPLES), st.integers(0, 10**9)), max_size=200), ordered=st.booleans())
def test_whatever_frames_come(tmp_path, frames, ordered):
    for kind in {kind for (kind, _), _ in frames}:
        some = [(time, frame, len(frame)) for (other, frame), time in frames if other == kind]
        pcap.write(tmp_path / "a.pcap", sorted(some) if ordered else some, link_type=kind)
        ours, plain = both(tmp_path / "a.pcap")
        assert ours == plain


@pytest.mark.parametrize("magic", ["<I", ">I"])
@pytest.mark.parametrize("kind", ["plain", "gzip"])
def test_more_than_a_window_of_any_order(tmp_path, magic, kind):
    Mirror(5, Mix(queue_pairs=900, hosts=300, active=300, window=4096)).write(tmp_path / "a.pcap", 12_000)
    content = bytearray((tmp_path / "a.pcap").read_bytes())
    if magic == ">I":
        content[:24] = struct.pack(">IHHIIII", *struct.unpack_from("<IHHIIII", content))
        at = 24
        while at < len(content):
            head = struct.unpack_from("<4I", content, at)
            struct.pack_into(">4I", content, at, *head)
            at += 16 + head[2]
    (tmp_path / "a.pcap").write_bytes(COMPRESSIONS[kind](bytes(content)))
    for switches in (1, 2):
        ours, plain = both(tmp_path / "a.pcap", switches=switches)
        assert ours == plain
        assert ours[2] == [12_000] * switches


def test_frames_longer_than_a_window(tmp_path):
    kind, frame = SAMPLES[0]
    long = [(i, frame.ljust(250_000 if i % 3 else 60, b"\0"), 250_000) for i in range(9)]
    pcap.write(tmp_path / "a.pcap", long, link_type=kind)
    ours, plain = both(tmp_path / "a.pcap", batch_octets=1 << 12)
    assert ours == plain
    assert ours[2] == [9]


def blocks(packets, *, every, order="<", links=(1, 1), unit=9):
    """A pcapng of two interfaces, of which the second counts in units of its own, and here and there another block."""
    clock = [option(order, 9, b"\x09"), option(order, 9, bytes([unit])) + option(order, 14, struct.pack(order + "q", -5))]
    out = [section(order), *(interface(order, link_type=link, options=o) for link, o in zip(links, clock, strict=True))]
    for i, (time_ns, frame, wire) in enumerate(packets):
        number = i % 3 == 1
        seconds, rest = divmod(time_ns + 5 * 10**9 * number, 10**9)
        power = 2 ** (unit & 0x7F) if unit & 0x80 else 10**unit
        ticks = seconds * power + rest * power // 10**9 if number else time_ns
        out.append(enhanced(order, ticks, frame, wire, number))
        if every and i % every == 0:
            simple = struct.pack(order + "I", wire) + frame
            out.append((block(order, 3, simple), block(order, 5, bytes(i % 9)), interface(order))[i // every % 3])
    return b"".join(out)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    how=MIRRORED,
    every=st.sampled_from([0, 1, 7, 90]),
    order=st.sampled_from("<<>"),
    unit=st.sampled_from([9, 6, 0, 0x80 + 20]),
    links=st.sampled_from([(1, 1), (101, 1), (1, 147)]),
    cut=st.integers(0, 300),
    wrong=st.none() | st.integers(28, 100_000),
    octets=st.sampled_from([1 << 10, 1 << 20]),
)
def test_a_pcapng_of_any_kind_cut_off_and_damaged_anywhere(tmp_path, how, every, order, unit, links, cut, wrong, octets):
    content = bytearray(blocks(mirrored(**how), every=every, order=order, links=links, unit=unit))
    content = content[: max(28, len(content) - cut)]
    if wrong is not None and wrong < len(content):
        content[wrong] ^= 0xFF
    (tmp_path / "a.pcapng").write_bytes(content)
    (ours, *of_ours), (plain, *of_plain) = both(tmp_path / "a.pcapng", batch_octets=octets)
    assert (ours, of_ours) == (plain, of_plain)


def test_compiled_code_reads_on_in_a_pcapng(tmp_path):
    Mirror(5, Mix(queue_pairs=900, hosts=300, active=300, window=4096)).write(tmp_path / "a.pcap", 12_000)
    some = [
        (int(t), bytes(batch.data[at : at + n]), int(wire))
        for batch in pcap.read(tmp_path / "a.pcap")
        for t, at, n, wire in zip(batch.time_ns, batch.offset, batch.captured, batch.wire, strict=True)
    ]
    (tmp_path / "a.pcapng").write_bytes(blocks(some, every=0))
    ours, plain = both(tmp_path / "a.pcapng", batch_octets=1 << 17)
    assert ours == plain
    assert ours[2] == [12_000]
    decoder, capture = Decoder(), pcap.read(tmp_path / "a.pcapng", batch_octets=1 << 17)
    parts = [len(part.batch) for part in capture_reader.read(capture, decoder) if isinstance(part, Undecoded)]
    assert sum(parts) == 12_000  # nobody follows: all comes in batches


def test_tcp_without_compiled_code_gives_the_same_records(tmp_path):
    script = (
        "import sys; from collectors.compilation import warming; from collectors.cli.commands import main; "
        "warming.Warming.start = lambda _: None; main()"
    )
    capture = ROOT / "pcaps" / "slow_uplink" / "spine0.pcap.gz"
    made = []
    for name in ("compiled", "interpreted"):
        out = tmp_path / f"{name}.csv"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)} | (
            {"NUMBA_CACHE_DIR": str(tmp_path / "empty")} if name == "interpreted" else {}
        )
        command = [sys.executable, "-c", script, "flows", str(capture), "-o", str(out)]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        made.append(out.read_text())
    assert made[0] == made[1]
    assert made[0].count("\n") > 2000
