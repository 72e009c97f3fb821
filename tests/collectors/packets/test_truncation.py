import numpy as np
import pytest

from collectors.aggregation.batch_decoder import Decoder
from collectors.packets import headers, plain_decoder, truncation
from collectors.packets.frame_batch import Batch
from collectors.packets.plain_decoder import BEYOND
from collectors.packets.truncation import ENOUGH, Cuts
from tests.collectors.builders.frames import erspan, ethernet, gre, ipv4, ipv6, roce, tcp, udp, vxlan

WHOLE = ethernet(ipv4(tcp(b"x" * 900)))


def longer(frame, length):
    """Return the same frame with another IP length."""
    return frame[:16] + length.to_bytes(2, "big") + frame[18:]


def decoded(*frames):
    decoder = Decoder()
    found = decoder.decode(Batch.of((i, frame, len(frame)) for i, frame in enumerate(frames)))
    plain = Cuts()
    rows = [plain_decoder.unpack(frame, len(frame), 1, plain) for frame in frames]
    assert [row.octets for row in rows if not isinstance(row, str)] == found.octets.tolist()
    return found.octets.tolist(), dict(decoder.skipped)


BAD = (
    longer(ethernet(ipv4(tcp(b"x" * 33))), 4169),
    ethernet(ipv4(tcp(b"x" * 33), length=4169, options=bytes(4))),
    ethernet(ipv4(roce(4, b"x" * 33), 17, length=4169)),
    ethernet(ipv6(tcp(b"x" * 33), length=4169), headers.IPV6),
    ethernet(ipv4(tcp(b"x" * 33), length=4169), tags=(0x8100,)),
    ethernet(ipv4(vxlan(ethernet(ipv4(tcp(b"x" * 33), length=4169))), 17)),
    ethernet(ipv4(gre(ipv4(udp(b"x" * 33), 17, length=4169), headers.IPV4), headers.GRE)),
)


@pytest.mark.parametrize("frame", BAD)
def test_a_packet_is_not_longer_than_its_frame(frame):
    assert decoded(WHOLE, frame, WHOLE) == ([900, 900], {BEYOND: 1})


@pytest.mark.parametrize("frame", BAD[:3])
def test_nobody_can_claim_more_than_the_longest_frames(frame):
    assert decoded(longer(frame, 60_000), WHOLE) == ([900], {BEYOND: 1})


@pytest.mark.parametrize("cut", [68, 128, 200])
def test_a_mirror_that_cuts_frames_counts_what_was_on_the_wire(cut):
    frames = [ethernet(ipv4(tcp(b"x" * 1448)))[:cut]] * 5
    assert decoded(*frames) == ([1448] * 5, {})
    bare = ethernet(ipv4(erspan(ethernet(ipv4(tcp(b"x" * 1448)))[:cut]), headers.GRE))
    assert decoded(bare, bare) == ([1448] * 2, {})


def test_of_two_mirrors_one_may_cut_frames():
    cut = ethernet(ipv4(tcp(b"x" * 1448)))[:128]
    assert decoded(WHOLE, *[cut] * 40) == ([900, *[1448] * (41 - ENOUGH)], {BEYOND: ENOUGH - 1})


def test_padding_is_no_evidence_of_cuts():
    padded = ethernet(ipv4(tcp())).ljust(60, b"\0")
    assert decoded(padded, WHOLE, padded) == ([0, 900, 0], {})


def test_the_array_is_as_big_as_its_slots():
    assert len(truncation.array()) == truncation.LENGTHS
    assert truncation.array().dtype == np.int64
