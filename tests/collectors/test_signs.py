import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.signs import (
    ECN_AT,
    END_AT,
    FLAGS_AT,
    GOES_ON,
    NOTHING,
    PSN_AT,
    SEGMENT,
    SEQUENCE_AT,
    STARTS,
    WHAT_AT,
    after,
    flags_of,
    going_on,
    is_end,
    is_marked,
    octets_of,
    psn_of,
    sequence_of,
    what_of,
)
from collectors.wire import compiled


@compiled
def told(sign):
    return what_of(sign), octets_of(sign), is_marked(sign), is_end(sign), psn_of(sign), sequence_of(sign), flags_of(sign)


@compiled
def followed(sign):
    return after(sign), going_on(sign)


def sign_of(what, octets, *, ecn=0, end=0, psn=0, sequence=0, flags=0):
    upper = psn << int(PSN_AT) | sequence << int(SEQUENCE_AT)
    return np.uint64(octets | what << int(WHAT_AT) | end << int(END_AT) | ecn << int(ECN_AT) | flags << int(FLAGS_AT) | upper)


@given(
    st.sampled_from([STARTS, GOES_ON]), st.integers(0, 65535), st.integers(0, 3), st.integers(0, 1), st.integers(0, 2**24 - 1)
)
def test_a_packet_of_a_message_is_followed_by_the_next_psn(what, octets, ecn, end, psn):
    sign = sign_of(what, octets, ecn=ecn, end=end, psn=psn)
    assert told(sign)[:5] == (what, octets, ecn == 3, bool(end), psn)
    next_sign, middle = followed(sign)
    assert int(next_sign) == int(sign_of(what, octets, ecn=ecn, end=end, psn=psn + 1 & 0xFFFFFF))
    assert int(middle) == int(sign_of(GOES_ON, octets, ecn=ecn, psn=psn))
    assert sign != NOTHING


@given(st.integers(0, 65535), st.integers(0, 3), st.integers(0, 2**32 - 1), st.integers(0, 255))
def test_a_segment_is_followed_by_where_it_ends(octets, ecn, sequence, flags):
    sign = sign_of(SEGMENT, octets, ecn=ecn, sequence=sequence, flags=flags)
    what, payload, marked, _, _, number, seen = told(sign)
    assert (what, payload, marked, number, seen) == (SEGMENT, octets, ecn == 3, sequence, flags)
    end = sequence + octets & 0xFFFFFFFF
    assert int(followed(sign)[0]) == int(sign_of(SEGMENT, octets, ecn=ecn, sequence=end, flags=flags))
    assert sign != NOTHING
