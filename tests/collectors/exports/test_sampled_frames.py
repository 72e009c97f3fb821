import numpy as np

from collectors.exports import sampled_frames
from collectors.exports.sampled_frames import ETHERNET, Frames
from collectors.packets import ultra_ethernet
from tests.collectors.builders import frames, uetframes


def decode(book, given):
    data = b"".join(given)
    size = np.array([len(f) for f in given], np.int64)
    return book.decode(data, np.cumsum(size) - size, size, size, np.full(len(given), ETHERNET, np.int64))


WRITE = frames.ethernet(frames.ipv4(frames.roce(10, frames.reth(64) + b"x" * 64), 17))
NOTICE = frames.ethernet(frames.ipv4(frames.roce(0x81, bytes(16)), 17, dst="10.0.0.9"))


def test_frames_to_columns(monkeypatch):
    monkeypatch.setattr(sampled_frames, "MAX_FRAMES", 2)  # several at once
    book = Frames()
    found = decode(book, [WRITE, frames.ethernet(bytes(40), 0x0806), NOTICE])
    assert found.rows.tolist() == [0, 2]
    assert found.reasons == {"not IP: ARP (EtherType 0x0806)": 1}
    assert [book.endpoints[c] for c in found.columns["dst"]] == ["10.0.0.2", "10.0.0.9"]
    got = {name: found.columns[name].tolist() for name in ("octets", "packets", "cnp", "src_port", "dst_qp")}
    assert got == {"octets": [64, 0], "packets": [1, 0], "cnp": [0, 1], "src_port": [0, 0], "dst_qp": [0x123456] * 2}


def test_packets_of_ultra_ethernet():
    write = uetframes.write(1024, total=4000)
    again = uetframes.write(1024, total=4000, flags=ultra_ethernet.RETRANSMIT)
    notice = uetframes.of(ultra_ethernet.NACK, ultra_ethernet.NO_SES, code=1)
    opaque = uetframes.PACKETS["encrypted"]
    found = decode(Frames(), [uetframes.framed(packet) for packet in (write, again, write[:200], notice, opaque)])
    got = {name: found.columns[name].tolist() for name in ("octets", "packets", "retransmits", "cnp", "src_port", "job_id")}
    assert got == {
        "octets": [1024, 0, 144, 0, 202],
        "packets": [1, 0, 1, 0, 1],
        "retransmits": [0, 1, 0, 0, 0],
        "cnp": [0, 0, 0, 1, 0],
        "src_port": [0, 0, 0, 0, 50_000],
        "job_id": [uetframes.JOB] * 3 + [0, 0],
    }
    cut = decode(Frames(), [uetframes.framed(write[:200], length=8 + len(write))])
    assert (cut.columns["octets"].tolist(), cut.columns["ecn"].tolist()) == ([0], [1])


def test_none_at_all_and_addresses_forgotten(monkeypatch):
    book = Frames()
    assert len(decode(book, []).rows) == 0
    decode(book, [WRITE])
    before = book.endpoints
    assert book.endpoints is before
    monkeypatch.setattr(sampled_frames, "MOST_ADDRESSES", 1)
    book.refresh()
    assert (len(before), book.endpoints) == (2, ())
