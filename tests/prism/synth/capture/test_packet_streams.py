import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.columns.record import ACK, FIN, PSH, SYN, TCP, UDP
from collectors.packets.headers import CNP
from prism.synth.capture.packet_streams import ACKNOWLEDGE, FIRST, LAST, MIDDLE, ONLY, Packets
from prism.synth.capture.packet_trains import COLUMNS, take_rows
from prism.synth.training.job_run import FAR_NS

BLANK = {
    "src": 0, "dst": 1, "src_port": 1000, "dst_port": 2000, "link": 7, "way": 0, "first": 0, "second": 2, "third": 1, "up": 1e3,
    "down": 2e3, "protocol": TCP, "flags": PSH | ACK,
}  # fmt: skip
BACK = {"src": 1, "dst": 0, "src_port": 2000, "dst_port": 1000, "way": 1}


def trains(*rows):
    return {name: np.array([(BLANK | row).get(name, 0) for row in rows], kind) for name, kind in COLUMNS.items()}


def rdma(start, end, octets, **more):
    return {
        "start": start,
        "end": end,
        "octets": octets,
        "packets": max(-(-octets // 4096), 1),
        "protocol": UDP,
        "flags": 0,
    } | more


def tcp(start, end, octets, **more):
    return {"start": start, "end": end, "octets": octets, "packets": max(-(-octets // 1448), 1)} | more


def laid(table, **options):
    parts = [part for part, _ in Packets(**options).add(table)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def test_an_rdma_message_is_first_middles_and_last():
    p = laid(trains(rdma(0, 300, 12_300), rdma(1000, 1000, 5), rdma(2000, 2000, 0, **BACK)))
    assert p["opcode"].tolist() == [FIRST, MIDDLE, MIDDLE, LAST, ONLY, ACKNOWLEDGE]
    assert p["octets"].tolist() == [4096, 4096, 4096, 12, 5, 0]
    assert p["time"].tolist() == [0, 100, 200, 300, 1000, 2000]
    psn = p["sequence"].astype(np.int64)
    assert (np.diff(psn[:5]) % (1 << 24) == 1).all()
    assert psn[5] == psn[4]  # the last it has seen
    assert p["acknowledgment"][5] == 1
    assert (p["total"][:4] == 12_300).all()


def test_only_the_ends_of_messages_leave_their_gap_in_the_psn():
    whole = laid(trains(rdma(0, 300, 40_960), rdma(500, 600, 100)))
    ends = laid(trains(rdma(0, 300, 40_960), rdma(500, 600, 100)), ends_only=True)
    assert ends["opcode"].tolist() == [FIRST, LAST, ONLY]
    kept = np.isin(whole["opcode"], (FIRST, LAST, ONLY))
    for name in ("time", "sequence", "octets"):
        assert ends[name].tolist() == whole[name][kept].tolist()


def test_tcp_counts_octets_and_acknowledges_those_of_the_other_way():
    p = laid(
        trains(
            tcp(0, 0, 0, flags=SYN),
            tcp(10, 10, 0, flags=SYN | ACK, **BACK),
            tcp(20, 40, 3000),
            tcp(50, 50, 0, flags=ACK, **BACK),
            tcp(60, 60, 0, flags=FIN | ACK),
            tcp(70, 70, 100, **BACK),
        )
    )
    there, back = int(p["sequence"][0]), int(p["sequence"][1])
    assert [(s - there) % 2**32 for s in p["sequence"][[0, 2, 3, 4, 6]].tolist()] == [0, 1, 1449, 2897, 3001]
    assert [(s - there) % 2**32 for s in p["acknowledgment"][[1, 5, 7]].tolist()] == [1, 3001, 3002]
    assert [(s - back) % 2**32 for s in p["acknowledgment"][[2, 6]].tolist()] == [1, 1]
    assert p["acknowledgment"][0] == 0
    assert p["flags"].tolist() == [SYN, SYN | ACK, ACK, ACK, PSH | ACK, ACK, FIN | ACK, PSH | ACK]


def test_a_packet_sent_again_repeats_its_number():
    for make in (tcp, rdma):
        p = laid(trains(make(0, 9000, 14_480 if make is tcp else 40_960, again=3)))
        assert len(p["time"]) == 13
        fresh = ~p["repeat"]
        assert len(set(p["sequence"][fresh].tolist())) == 10
        assert (p["sequence"][p["repeat"]] == p["sequence"][np.flatnonzero(p["repeat"]) - 1]).all()
        assert p["octets"][fresh].sum() == (14_480 if make is tcp else 40_960)
        assert len(set(p["ip_id"].tolist())) == 13


def test_later_switches_see_packets_later_and_in_order():
    p = laid(trains(rdma(0, 900, 40_960, up=5e6), rdma(1000, 1900, 40_960, up=1e3)))
    assert (p["second_time"] >= p["time"] + 1000).all()
    assert (p["third_time"] >= p["second_time"] + 2000).all()
    assert (np.diff(p["second_time"]) >= 0).all()
    assert (np.diff(p["third_time"]) >= 0).all()


def test_a_long_train_is_laid_out_in_pieces():
    table = trains(tcp(0, 1e6, 1448 * 20_000, again=9), tcp(3e5, 3e5, 48, **BACK))
    chunks = list(Packets(most=1000).add(table))
    assert max(len(part["time"]) for part, _ in chunks) < 10_000
    p = {name: np.concatenate([part[name] for part, _ in chunks]) for name in chunks[0][0]}
    assert len(p["time"]) == 20_010
    assert p["octets"][~p["repeat"] & (p["way"] == 0)].sum() == 1448 * 20_000
    assert np.count_nonzero(p["flags"][~p["repeat"]] & PSH) == 2


ROWS = st.lists(
    st.tuples(
        st.sampled_from([tcp, rdma]), st.integers(0, 10_000), st.integers(0, 5000), st.integers(1, 60_000), st.integers(0, 1)
    ),
    min_size=1,
    max_size=12,
)


@given(ROWS, st.integers(1, 60), st.integers(0, 12))
def test_packets_are_the_same_in_chunks_and_parts(rows, most, cut):
    made = [
        make(start, start + length, octets, link=3 + way + 10 * (make is rdma), **(BACK if way else {}))
        for make, start, length, octets, way in rows
    ]
    table = trains(*sorted(made, key=lambda row: row["start"]))
    whole = laid(table)
    packets, cut = Packets(most=most), min(cut, len(made))
    until = float(table["start"][cut]) if cut < len(made) else FAR_NS
    chunks = [*packets.add(take_rows(table, slice(cut)), until), *packets.add(take_rows(table, slice(cut, None)))]
    parts = {name: np.concatenate([part[name] for part, _ in chunks]) for name in whole}
    names = ("link", "way", "time", "sequence", "octets", "opcode", "flags", "third_time")
    rows, again = (sorted(zip(*(p[name].tolist() for name in names), strict=True)) for p in (whole, parts))
    assert rows == again
    for part, edge in chunks:
        assert (part["time"] < edge).all()
    assert (np.diff(parts["time"]) >= 0).all()


@pytest.mark.parametrize("n", [0, 1])
def test_few_trains(n):
    table = take_rows(trains(tcp(0, 0, 10)), slice(n))
    assert len([*Packets().add(table)]) == n


def test_notifications_have_no_number():
    p = laid(trains(rdma(0, 300, 12_300), rdma(100, 200, 0, packets=3, flags=CNP, **BACK), rdma(400, 400, 0, **BACK)))
    notices = p["opcode"] == CNP
    assert p["time"][notices].tolist() == [100, 150, 200]
    assert not p["sequence"][notices].any()
    assert not p["flags"].any()
    assert p["acknowledgment"][-1] == 1
