from __future__ import annotations

from collections import Counter
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.addresses.address_book import AddressBook
from collectors.aggregation.batch_decoder import Decoder
from collectors.captures.pcap import read
from collectors.columns.record import Packets
from collectors.packets import headers, plain_decoder
from collectors.packets.frame_batch import Batch
from collectors.packets.plain_decoder import DecodeError
from collectors.packets.truncation import Cuts
from tests.collectors.builders import frames
from tests.collectors.builders.frames import SAMPLES, ethernet, ipv4, ipv6, tcp
from tests.collectors.builders.tunnelled import TUNNELLED, UNKNOWN
from tests.collectors.builders.uetframes import PACKETS, framed

ALL = (*SAMPLES, *((1, frame) for frame in (*TUNNELLED.values(), *UNKNOWN.values(), *map(framed, PACKETS.values()))))
LINK_TYPES = (1, 113, 276, 101, 12, 14, 228, 229, 0, 108, 147, 219)
OTHERS = Path(__file__).parents[4] / "shared"  # captures of other makers, where they are at hand
Row = tuple[object, ...]


def plain_rows(batch: Batch) -> tuple[list[Row], Counter[str]]:
    """What `plain_decoder.unpack` says, frame by frame: addresses as octets."""
    rows: list[Row] = []
    cuts = Cuts()
    skipped: Counter[str] = Counter()
    columns = (batch.link_type, batch.time_ns, batch.offset, batch.captured, batch.wire)
    for link_type, time_ns, offset, captured, wire in zip(*(c.tolist() for c in columns), strict=True):
        found = plain_decoder.unpack(batch.data[offset : offset + captured], wire, link_type, cuts)
        if isinstance(found, str):
            skipped[found] += 1
        else:
            rows.append((time_ns, text(found.src), text(found.dst), *found[2:]))
    return rows, skipped


def text(address: bytes) -> str:
    book = AddressBook()
    return book.endpoints[book.code(address)]


def fast_rows(decoder: Decoder, packets: Packets) -> list[Row]:
    columns = [getattr(packets, f.name).tolist() for f in fields(packets)]
    columns[1:3] = [[decoder.endpoints[code] for code in codes] for codes in columns[1:3]]
    return list(zip(*columns, strict=True))


def assert_same(batch: Batch) -> None:
    decoder = Decoder()
    assert (fast_rows(decoder, decoder.decode(batch)), decoder.skipped) == plain_rows(batch)


def join(samples: list[tuple[int, bytes]], wire: list[int]) -> Batch:
    batch = Batch.of(((i, frame, w) for i, ((_, frame), w) in enumerate(zip(samples, wire, strict=True))))
    link_type = np.array([link_type for link_type, _ in samples], np.int64)
    return Batch(batch.data, link_type, batch.time_ns, batch.offset, batch.captured, batch.wire)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[int, bytes]:
    """A sample, perhaps cut, perhaps with a few octets changed, perhaps announced as another link type."""
    link_type, frame = draw(st.sampled_from(ALL))
    octets = bytearray(frame)
    for at, value in draw(st.lists(st.tuples(st.integers(0, min(len(frame), 100) - 1), st.integers(0, 255)), max_size=4)):
        octets[at] = value
    cut = draw(st.one_of(st.just(len(octets)), st.integers(0, len(octets))))
    return draw(st.one_of(st.just(link_type), st.sampled_from(LINK_TYPES))), bytes(octets[:cut])


def test_every_sample_and_every_cut_of_it() -> None:
    for link_type, frame in ALL:
        cuts = [(link_type, frame[:captured]) for captured in range(len(frame) + 1)]
        assert_same(join(cuts, [len(frame)] * len(cuts)))
        for wire in (0, len(frame) + 70_000):
            assert_same(join([(link_type, frame)], [wire]))


def test_every_bit_of_every_sample() -> None:
    for link_type, frame in ALL:
        flipped = []
        for bit in range(8 * min(len(frame), 110)):
            octets = bytearray(frame)
            octets[bit // 8] ^= 1 << bit % 8
            flipped.append((link_type, bytes(octets)))
        assert_same(join(flipped, [len(frame)] * len(flipped)))


@given(st.lists(st.tuples(mutated(), st.integers(0, 2**32 - 1)), max_size=20))
def test_mutated_frames(drawn: list[tuple[tuple[int, bytes], int]]) -> None:
    assert_same(join([sample for sample, _ in drawn], [wire for _, wire in drawn]))


@given(st.lists(st.tuples(st.sampled_from(LINK_TYPES), st.binary(max_size=120)), max_size=20))
def test_arbitrary_octets(samples: list[tuple[int, bytes]]) -> None:
    assert_same(join(samples, [len(frame) for _, frame in samples]))


@given(st.integers(0, len(SAMPLES)))
def test_a_split_batch_gives_the_same_rows(at: int) -> None:
    whole, parts = Decoder(), Decoder()
    samples, wire = list(SAMPLES), [len(frame) for _, frame in SAMPLES]
    expected = fast_rows(whole, whole.decode(join(samples, wire)))
    found = []
    for cut in (slice(None, at), slice(at, None)):
        batch = join(samples[cut], wire[cut])
        shifted = Batch(batch.data, batch.link_type, batch.time_ns + (cut.start or 0), *places(batch))
        found += fast_rows(parts, parts.decode(shifted))
    assert found == expected
    assert whole.skipped == parts.skipped


def places(batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return batch.offset, batch.captured, batch.wire


def test_columns_have_their_types() -> None:
    for batch in (Batch.of([]), Batch.of([(5, ethernet(ipv4(tcp())), 60)]), Batch.of([(5, b"", 60)])):
        packets = Decoder().decode(batch)
        types = {f.name: getattr(packets, f.name).dtype.name for f in fields(packets)}
        assert types == {
            "time_ns": "int64",
            "src": "int32",
            "dst": "int32",
            "src_port": "uint16",
            "dst_port": "uint16",
            "protocol": "uint8",
            "octets": "int64",
            "ip_id": "uint32",
            "ecn": "bool",
            "sequence": "uint32",
            "acknowledgment": "uint32",
            "tcp_flags": "uint8",
            "opcode": "int16",
            "dst_qp": "uint32",
            "dma_length": "int64",
            "syndrome": "int16",
            "job_id": "uint32",
        }


def test_a_batch_without_room_behind_its_frames() -> None:
    batch = Batch.of([(0, ethernet(ipv4(tcp())), 60)])
    tight = Batch(batch.data[: int(batch.captured[0])], batch.link_type, batch.time_ns, *places(batch))
    assert_same(tight)


def test_one_book_serves_several_decoders() -> None:
    book = AddressBook()
    first, second = Decoder(book), Decoder(book)
    there, back = ethernet(ipv4(tcp())), ethernet(ipv4(tcp(), src=frames.TWO, dst=frames.ONE))
    one, two = first.decode(Batch.of([(0, there, 60)])), second.decode(Batch.of([(0, back, 60)]))
    assert (one.src[0], one.dst[0]) == (two.dst[0], two.src[0])
    assert sorted(book.endpoints) == [frames.ONE, frames.TWO]


def test_ipv4_and_ipv6_addresses_as_text() -> None:
    decoder = Decoder()
    decoder.decode(Batch.of([(0, ethernet(ipv4(tcp())), 60), (1, ethernet(ipv6(tcp()), headers.IPV6), 80)]))
    assert sorted(decoder.endpoints) == [frames.ONE, frames.TWO, frames.SIX, frames.SEVEN]


@pytest.mark.parametrize("path", sorted(OTHERS.glob("formats/*/*.pcap*")), ids=lambda path: path.name)
def test_odd_captures(path: Path) -> None:
    try:
        capture = read(path)
    except DecodeError:  # not every file there is a capture
        return
    for batch in capture:
        assert_same(batch)


@pytest.mark.parametrize("path", sorted(OTHERS.glob("captures/roce/*/leaf0.pcap.gz")), ids=lambda path: path.parent.name)
def test_roce_captures(path: Path) -> None:
    for batch in read(path):
        assert_same(batch)
