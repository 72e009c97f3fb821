from __future__ import annotations

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.packets.frame_batch import PAD, Batch, gather, words


def test_a_batch_of_frames() -> None:
    batch = Batch.of([(5, b"abc", 9), (6, b"", 8), (7, b"de", 7)], link_type=101)
    assert len(batch) == 3
    assert batch.offset.tolist() == [0, 3, 3]
    assert batch.captured.tolist() == [3, 0, 2]
    assert (batch.wire == [9, 8, 7]).all()
    assert (batch.link_type == 101).all()
    assert len(Batch.of([])) == 0
    assert batch.time_ns.dtype == np.int64


@given(st.binary(max_size=60), st.data(), st.sampled_from("<>"))
def test_what_is_gathered_is_what_struct_unpacks(octets: bytes, data: st.DataObject, order: str) -> None:
    at = data.draw(st.lists(st.integers(0, len(octets)), max_size=5))
    layout = np.dtype([("short", order + "u2"), ("long", order + "u4"), ("octet", "u1")])
    buffer, places = octets + PAD, np.array(at, np.int64)
    expected = [struct.unpack_from(order + "HIB", buffer, place) for place in at]
    assert gather(buffer, places, layout).tolist() == expected
    numbers = [struct.unpack_from(order + "III", buffer, place) for place in at]
    assert list(zip(*words(buffer, places, order, 3).tolist(), strict=True)) == numbers
