from pathlib import Path

import numpy as np

from benchmarks.mirror import Mirror, Mix
from collectors.aggregation.batch_decoder import Decoder
from collectors.aggregation.flow_table import flows_of
from collectors.captures import pcap
from collectors.packets.headers import CNP

MIX = Mix(queue_pairs=20, connections=9, hosts=8, active=16, lost=0.01, window=500)


def test_the_packets_are_what_was_requested(tmp_path: Path) -> None:
    for name in ("a", "b"):
        Mirror(3, MIX).write(tmp_path / name, 3000)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    decoder, capture = Decoder(), pcap.read(tmp_path / "a")
    rows = np.concatenate([decoder.unpack(batch).copy() for batch in capture])
    assert (len(rows), decoder.skipped.total()) == (3000, 0)
    assert 0.9 < np.mean(rows["opcode"] >= 0) < 0.96
    assert not np.any(rows["opcode"] == CNP)
    assert set(np.unique(rows["octets"])) == {0, 1448, 4096}


def test_messages_and_what_was_sent_again_are_found(tmp_path: Path) -> None:
    Mirror(3, MIX).write(tmp_path / "a", 20_000)
    decoder = Decoder()
    flows, _, tally = flows_of({"a": map(decoder.unpack, pcap.read(tmp_path / "a"))}, decoder.endpoints)
    roce = flows.take(flows.dst_qp > 0)
    whole = {length * 4096 for length in (16, 64, 256, 1024)}
    assert np.mean([octets in whole for octets in roce.octets.tolist()]) > 0.8
    assert roce.retransmits.sum() > 0
    assert tally["negative acknowledgment"] > 0
    assert flows.take(flows.protocol == 6).retransmits.sum() == 0
