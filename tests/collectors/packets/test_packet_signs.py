import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.compilation.primitives import compiled
from collectors.packets import headers
from collectors.packets.common_frames import AROUND
from collectors.packets.packet_kinds import BEGINS, DATA, ENDS, MEANING
from collectors.packets.packet_signs import (
    FLAGS_AT,
    NOTHING,
    OPCODE_AT,
    PSN_AT,
    SEQUENCE_AT,
    UNKNOWN,
    after_packet,
    after_segment,
    flags_of,
    going_on,
    is_marked,
    octets_of,
    opcode_of,
    payload_of,
    psn_of,
    sequence_of,
)

DATA_OPCODES = [opcode for opcode in range(256) if MEANING[opcode] & 7 == DATA]
ECN_AT, PAD_AT = 16, 28


@compiled
def told_packet(sign):
    return np.int64(opcode_of(sign)), payload_of(sign), is_marked(sign), psn_of(sign)


@compiled
def told_segment(sign):
    return octets_of(sign), is_marked(sign), sequence_of(sign), flags_of(sign)


@compiled
def followed(sign):
    return after_packet(sign), after_segment(sign), going_on(sign)


def packet(opcode, payload, *, ecn=0, psn=0, pad=0):
    length = payload + pad + int(AROUND[opcode])
    return np.uint64(length | ecn << ECN_AT | pad << PAD_AT | opcode << int(OPCODE_AT) | psn << int(PSN_AT))


@given(
    st.sampled_from(DATA_OPCODES),
    st.integers(0, 65000),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 2**24 - 1),
)
def test_a_packet_is_followed_by_the_next_psn(opcode, payload, ecn, pad, psn):
    sign = packet(opcode, payload, ecn=ecn, psn=psn, pad=pad)
    assert told_packet(sign) == (opcode, payload, ecn == 3, psn)
    following, _, between = followed(sign)
    assert int(following) == int(packet(opcode, payload, ecn=ecn, psn=psn + 1 & 0xFFFFFF, pad=pad))
    same, rest, *others = told_packet(np.uint64(between))
    assert (rest, *others) == (payload, ecn == 3, psn)
    begins = int(MEANING[opcode]) & (BEGINS | ENDS) == BEGINS
    assert (same != opcode) == begins
    assert int(MEANING[same]) == int(MEANING[opcode]) - begins * BEGINS
    assert sign not in (NOTHING, UNKNOWN)


def test_a_length_too_small_for_the_headers():
    assert told_packet(np.uint64(headers.BTH_OCTETS))[1] < 0


@given(st.integers(0, 65535), st.integers(0, 3), st.integers(0, 2**32 - 1), st.integers(0, 255))
def test_a_segment_is_followed_by_where_it_ends(octets, ecn, sequence, flags):
    def segment(sequence):
        return np.uint64(octets | ecn << ECN_AT | flags << int(FLAGS_AT) | sequence << int(SEQUENCE_AT))

    sign = segment(sequence)
    assert told_segment(sign) == (octets, ecn == 3, sequence, flags)
    assert int(followed(sign)[1]) == int(segment(sequence + octets & 0xFFFFFFFF))
    assert sign not in (NOTHING, UNKNOWN)
