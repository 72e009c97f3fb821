import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.addresses.address_book import AddressBook
from collectors.columns.record import TCP
from collectors.compilation.primitives import compiled
from collectors.flows.flow_state import ANSWERS, LANE, REQUESTS, empty_table
from collectors.flows.flow_tracking import MEANING
from collectors.flows.frame_classification import (
    ACKNOWLEDGES,
    GOES_ON,
    HINT,
    SEGMENT,
    STARTS,
    UNCOMMON,
    classify_frames,
    find_flows,
    identity_of,
    syndrome,
)
from collectors.packets import plain_decoder, truncation
from collectors.packets.common_frames import COMMON
from collectors.packets.frame_batch import Batch
from collectors.packets.packet_kinds import ACKNOWLEDGMENT, ANSWER, BEGINS, DATA
from collectors.packets.packet_signs import UNKNOWN, flags_of, is_marked, octets_of, opcode_of, payload_of, psn_of, sequence_of
from tests.collectors.builders.frames import SAMPLES

NEAR = np.full(1024, -1, np.int32)


@compiled
def hints_of(data, frames, hints, near, seen):
    classify_frames(data, frames, np.uint64(0), np.uint64(len(hints)), hints, near, seen)


@compiled
def sought(t, hints, book):
    return find_flows(t, hints, np.uint64(len(hints)), book)


@compiled
def identity(hints):
    return identity_of(hints[0])


@compiled
def packet_of(sign):
    return payload_of(sign), is_marked(sign), psn_of(sign), np.int64(opcode_of(sign))


@compiled
def segment_of(sign):
    return octets_of(sign), is_marked(sign), sequence_of(sign), flags_of(sign)


@compiled
def said(hints):
    return syndrome(hints[0])


def hinted(frames):
    """The hints of frames of Ethernet."""
    batch, hints = Batch.of((7, frame, len(frame)) for frame in frames), np.zeros(len(frames), HINT)
    columns = (batch.link_type, batch.time_ns, batch.offset, batch.captured, batch.wire)
    octets = np.frombuffer(batch.data, np.uint8)
    hints_of(octets.ctypes.data, columns, hints, NEAR, truncation.array())
    return octets, hints


def check(frame):
    """Check that a hint equals the result of the plain decoder."""
    octets, (hint,) = hinted([frame])
    what, rest = identity(np.array([hint], HINT))
    assert (hint["time_ns"], hint["lengths"]) == (7, len(frame) | len(frame) << 32)
    assert (hint["flow"] >= 0) == (hint["sign"] != UNKNOWN)
    assert hint["flow"] < len(NEAR)
    if what == UNCOMMON:
        return UNCOMMON
    plain = plain_decoder.unpack(frame, len(frame), 1)
    assert hint["ends"].tobytes() == plain.src[12:] + plain.dst[12:]
    if what == SEGMENT:
        assert int(rest) == LANE << 60 | TCP << 32 | plain.src_port << 16 | plain.dst_port
        assert segment_of(hint["sign"]) == (plain.octets, plain.ecn, plain.sequence, plain.tcp_flags)
        return SEGMENT
    meaning = int(MEANING[plain.opcode])
    assert int(rest) == (ANSWERS if meaning & ANSWER else REQUESTS) << 60 | plain.dst_qp
    assert packet_of(hint["sign"]) == (plain.octets, plain.ecn, plain.sequence, plain.opcode)
    if what == ACKNOWLEDGES:
        assert meaning == ACKNOWLEDGMENT
        assert said(np.array([hint], HINT)) == plain.syndrome
    else:
        assert (meaning & 7, what == STARTS) == (DATA, meaning & BEGINS != 0)
    assert len(octets) >= len(frame)
    return what


def test_every_sample_and_every_cut_of_it():
    found = {check(frame[:cut]) for kind, frame in SAMPLES if kind == 1 for cut in range(len(frame) + 1)}
    assert found >= {UNCOMMON, STARTS, SEGMENT}


@given(st.sampled_from([f for kind, f in SAMPLES if kind == 1 and len(f) >= COMMON]), st.integers(0, 53), st.integers(0, 255))
def test_an_octet_changed(frame, at, value):
    check(frame[:at] + bytes([value]) + frame[at + 1 :])


def test_every_opcode():
    roce = next(frame for kind, frame in SAMPLES if kind == 1 and frame[36:38] == b"\x12\xb7" and frame[12:15] == b"\x08\0E")
    assert {check(roce[:42] + bytes([opcode]) + roce[43:]) for opcode in range(256)} == {
        UNCOMMON,
        GOES_ON,
        STARTS,
        ACKNOWLEDGES,
    }


def test_flows_are_sought_where_hints_lead():
    _, hints = hinted([frame for kind, frame in SAMPLES if kind == 1])
    table = empty_table()._replace(near=np.full(1024, 5, np.int32))
    led, book = hints["flow"] >= 0, AddressBook()
    assert 0 < led.sum() < len(led)
    assert sought(table, hints, (*book.tables(0)[:2], book.pairs)) == 0
    assert hints["flow"].tolist() == np.where(led, 4, -1).tolist()
