from dataclasses import fields

import pytest

from collectors.aggregation import batch_decoder
from collectors.aggregation.batch_decoder import Decoder
from collectors.packets.frame_batch import Batch
from tests.collectors.builders.tunnelled import TUNNELLED, UNKNOWN


def decoded(decoder, *frames):
    return decoder.decode(Batch.of((i, frame, len(frame)) for i, frame in enumerate(frames)))


def test_packets_in_tunnels_are_decoded():
    decoder = Decoder()
    found = decoded(decoder, *TUNNELLED.values())
    assert found.octets.tolist() == [77] * len(TUNNELLED)
    assert set(zip(found.src_port.tolist(), found.dst_port.tolist(), strict=True)) == {(40_000, 50_000)}
    assert set(decoder.endpoints) == {"10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"}
    assert not decoder.skipped
    assert all(len(getattr(found, f.name)) == len(TUNNELLED) for f in fields(found))


@pytest.mark.parametrize("times", [1, 3])
def test_what_is_unknown_is_counted_by_its_name(times):
    decoder = Decoder()
    for _ in range(times):
        decoded(decoder, *UNKNOWN.values())
    assert dict(decoder.skipped) == dict.fromkeys(UNKNOWN, times)


def test_there_are_not_too_many_names(monkeypatch):
    monkeypatch.setattr(batch_decoder, "MOST_REASONS", 5)
    decoder = Decoder()
    decoded(decoder, *(bytes(12) + (0x7000 + k).to_bytes(2, "big") + bytes(46) for k in range(50)), *UNKNOWN.values())
    assert decoder.skipped["not IP: other EtherTypes"] > 40
    assert len(decoder.skipped) < 6 + len(UNKNOWN)
    assert decoder.skipped.total() == 50 + len(UNKNOWN)
    assert decoder.skipped["not IP: MPLS (EtherType 0x8847)"] == 1
