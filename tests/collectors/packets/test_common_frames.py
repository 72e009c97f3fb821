import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.aggregation.batch_decoder import Decoder
from collectors.compilation.primitives import compiled
from collectors.packets import plain_decoder
from collectors.packets.common_frames import COMMON, common
from collectors.packets.compiled_decoder.frame_decoder import ROW
from collectors.packets.frame_batch import Batch
from tests.collectors.builders.frames import SAMPLES


@compiled
def is_common(begin, end, rows):
    return common(begin, end, rows[0])


def told(frame):
    octets, rows = np.frombuffer(frame, np.uint8), np.zeros(1, ROW)
    return is_common(octets.ctypes.data, octets.ctypes.data + len(frame), rows), rows[0]


def test_what_it_takes_is_what_the_plain_decoder_says():
    taken = 0
    for link_type, frame in SAMPLES:
        for captured in range(COMMON, len(frame) + 1) if link_type == 1 else ():
            found, row = told(frame[:captured])
            if found:
                plain = plain_decoder.unpack(frame[:captured], len(frame), link_type)
                taken += 1
                assert tuple(row[name] for name in plain_decoder.Packet._fields[2:]) == plain[2:]
    assert taken > 100


@pytest.mark.parametrize("at", [12, 13, 14, 20, 21, 23, 36, 37, 46])
@given(value=st.integers(0, 255))
def test_any_other_frame_is_left_to_others(at, value):
    for link_type, frame in SAMPLES:
        if link_type == 1 and len(frame) >= COMMON:
            octets = bytearray(frame)
            octets[at] = value
            plain, (found, row) = plain_decoder.unpack(bytes(octets), len(frame), 1), told(bytes(octets))
            assert not found or tuple(row[name] for name in plain_decoder.Packet._fields[2:]) == plain[2:]


def test_pairs_of_addresses_that_are_remembered_have_the_codes_they_had():
    frame = next(frame for link_type, frame in SAMPLES if link_type == 1 and len(frame) >= COMMON and told(frame)[0])
    frames = []
    for k in range(20_000):  # more pairs than are remembered, then each again
        other = bytearray(frame)
        other[26:34] = (k % 10_000 + 1).to_bytes(4, "big") + (k % 97 + 1).to_bytes(4, "big")
        frames.append((k, bytes(other), len(other)))
    decoder = Decoder()
    found = decoder.decode(Batch.of(frames))
    text = np.array(decoder.endpoints)
    sent = [
        (plain_decoder.unpack(frame, wire, 1).src[12:], plain_decoder.unpack(frame, wire, 1).dst[12:])
        for _, frame, wire in frames
    ]
    assert text[found.src].tolist() == [".".join(map(str, src)) for src, _ in sent]
    assert text[found.dst].tolist() == [".".join(map(str, dst)) for _, dst in sent]
