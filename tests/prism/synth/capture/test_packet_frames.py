import numpy as np
import pytest
from scapy.contrib.erspan import ERSPAN_II
from scapy.contrib.roce import AETH, BTH
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import GRE, Ether

from collectors.columns.record import ACK, PSH
from collectors.packets import plain_decoder
from prism.synth.capture.packet_frames import WRAP, frames, numbers_of, wrap_erspan
from prism.synth.capture.packet_streams import ACKNOWLEDGE, FIRST, LAST, ONLY, Packets
from tests.prism.synth.capture.test_packet_streams import BACK, rdma, tcp, trains

ADDRESSES = numbers_of(("10.10.0.1", "10.10.1.1"))


def table():
    rows = trains(
        rdma(0, 300, 12_301, dst_qp=0xABCDE), rdma(400, 400, 0, dst_qp=0x12345, **BACK), tcp(500, 900, 3001, link=9, again=1)
    )
    (part, _), = Packets().add(rows)  # fmt: skip
    return part | {"sent": part["time"], "marked": np.arange(len(part["time"])) == 1}


def built(snaplen):
    octets, captured, wire = frames(table(), ADDRESSES, snaplen)
    assert (captured == np.minimum(wire, snaplen)).all()
    return [bytes(row[:n]) for row, n in zip(octets, captured.tolist(), strict=True)], wire.tolist()


@pytest.mark.parametrize("snaplen", [70, 128, 5000])
def test_our_decoder_reads_what_was_requested(snaplen):
    t = table()
    for i, (frame, wire) in enumerate(zip(*built(snaplen), strict=True)):
        found = plain_decoder.unpack(frame, wire, 1)
        assert isinstance(found, plain_decoder.Packet), found
        assert (found.octets, found.sequence, found.ip_id) == tuple(int(t[n][i]) for n in ("octets", "sequence", "ip_id"))
        assert (found.protocol, found.opcode, found.tcp_flags) == tuple(int(t[n][i]) for n in ("protocol", "opcode", "flags"))
        assert found.ecn == (i == 1)
        assert found.dma_length == (12_301 if t["opcode"][i] in (FIRST, ONLY) else -1)
        assert found.dst_qp == (t["dst_qp"][i] if t["protocol"][i] == 17 else 0)


def test_scapy_reads_the_same_and_finds_the_checksums_right():
    t = table()
    for i, (frame, wire) in enumerate(zip(*built(5000), strict=True)):
        layers = Ether(frame)
        assert len(frame) == wire == 14 + layers[IP].len
        assert (layers[IP].src, layers[IP].dst) == (
            ("10.10.0.1", "10.10.1.1") if t["way"][i] == 0 else ("10.10.1.1", "10.10.0.1")
        )
        sums = layers[IP].chksum, layers[TCP].chksum if TCP in layers else None
        del layers[IP].chksum
        if TCP in layers:
            assert layers[TCP].seq == t["sequence"][i]
            assert dict(layers[TCP].options)["Timestamp"] == (0, 0)
            del layers[TCP].chksum
        again = Ether(bytes(layers))
        assert (again[IP].chksum, again[TCP].chksum if TCP in again else None) == sums
        if UDP in layers:
            assert layers[UDP].len == layers[IP].len - 20
            bth = layers[BTH]
            assert (bth.opcode, bth.psn, bth.dqpn) == (t["opcode"][i], t["sequence"][i], t["dst_qp"][i])
            assert bth.padcount == -t["octets"][i] % 4
            assert bth.ackreq == (t["opcode"][i] in (LAST, ONLY))
            if t["opcode"][i] == ACKNOWLEDGE:
                assert (layers[AETH].syndrome, layers[AETH].msn) == (0x1F, 1)


def test_erspan_wraps_and_numbers_them():
    t = table()
    n = len(t["time"])
    whole = wrap_erspan(frames(t, ADDRESSES, 300), np.arange(n) + 65_534, (10 << 24 | 7, 10 << 24 | 8), 5, 300)
    bare, _ = built(300 - WRAP)
    for i in range(n):
        frame = bytes(whole[0][i, : whole[1][i]])
        layers = Ether(frame)
        assert (layers[IP].src, layers[IP].dst, layers[IP].proto) == ("10.0.0.7", "10.0.0.8", 47)
        assert (layers[GRE].proto, layers[GRE].seqnum_present, layers[GRE].sequence_number) == (0x88BE, 1, 65_534 + i)
        assert layers[ERSPAN_II].session_id == 5
        assert layers[IP].len == whole[2][i] - 14
        checksum = layers[IP].chksum
        del layers[IP].chksum
        assert Ether(bytes(layers))[IP].chksum == checksum
        assert plain_decoder.unpack(frame, int(whole[2][i]), 1) == plain_decoder.unpack(bare[i], len(bare[i]), 1)
        assert frame[WRAP:] == bare[i]


def test_flags_of_the_last_segment_push():
    t = table()
    assert t["flags"][-1] == PSH | ACK
