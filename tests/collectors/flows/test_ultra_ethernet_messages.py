"""Test records of Ultra Ethernet: one per message, for any packet order, and signs of congestion."""

import random
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.aggregation.batch_decoder import Decoder
from collectors.aggregation.flow_table import FlowTable, flows_of
from collectors.columns.record import UET_PORT
from collectors.flows.flow_state import MESSAGES
from collectors.packets import ultra_ethernet as uet
from collectors.packets.frame_batch import Batch
from tests.collectors.builders.uetframes import ENDPOINT, JOB, framed, of, pds, response, response_data, small, standard, write

NAMES = ("octets", "packets", "messages", "retransmits", "ecn", "cnp")
MTU = 1024


def message(size: int, *, number: int = 1, psn: int = 100, pdc: int = 5, **fields: int) -> list[bytes]:
    """Build the packets of a WRITE in order."""
    parts = [(offset, min(MTU, size - offset)) for offset in range(0, size, MTU)]
    return [
        write(length, total=size, offset=offset, message=number, psn=psn + k, pdc=pdc, **fields)
        for k, (offset, length) in enumerate(parts)
    ]


def again(packet: bytes) -> bytes:
    """Return the same packet with the retransmission flag."""
    return packet[:1] + bytes([packet[1] | uet.RETRANSMIT]) + packet[2:]


def followed(packets: list[bytes] | list[tuple[int, bytes]], **fields: str):
    """Records and counts of packets a microsecond apart, or at their times, or of whole frames."""
    decoder = Decoder()
    timed = [p if isinstance(p, tuple) else (1000 * i, framed(p, **fields)) for i, p in enumerate(packets)]
    batch = Batch.of([(time, frame, len(frame)) for time, frame in timed])
    flows, _, tally = flows_of({"s": iter([decoder.later(batch)])}, decoder.endpoints)
    return flows, tally


def rows(flows) -> list[tuple[int, ...]]:
    return sorted(zip(*(getattr(flows, name).tolist() for name in NAMES), strict=True))


def test_a_message_is_one_record_of_its_request_length() -> None:
    flows, tally = followed(message(4000))
    assert rows(flows) == [(4000, 4, 1, 0, 0, 0)]
    assert (flows.start_ns[0], flows.end_ns[0], flows.busy_ns[0]) == (0, 3000, 3000)
    assert (flows.protocol[0], flows.src_port[0], flows.dst_port[0]) == (17, 0, UET_PORT)
    assert (flows.dst_qp[0], flows.job_id[0]) == (ENDPOINT, JOB)
    assert tally == {"packets seen once": 4}


@given(st.lists(st.integers(1, 9000), min_size=1, max_size=MESSAGES + 1), st.integers(0, 2**32 - 1), st.randoms())
@settings(max_examples=30)
def test_messages_come_in_any_order_mixed(sizes: list[int], psn: int, chance: random.Random) -> None:
    """Packet spraying: as many messages as are held, their packets in any order, PSNs that begin anew at 2^32."""
    numbers = count(psn)
    parts = [packet for number, size in enumerate(sizes) for packet in message(size, number=number)]
    packets = [packet[:4] + (next(numbers) % 2**32).to_bytes(4, "big") + packet[8:] for packet in parts]
    near = sorted(range(len(packets)), key=lambda k: k + chance.uniform(0, 40))
    flows, _ = followed([packets[0], *(packets[k] for k in near if k)])
    assert sorted(flows.octets.tolist()) == sorted(sizes)
    assert flows.messages.sum() == len(sizes)
    assert flows.retransmits.sum() == 0


def test_many_messages_of_one_id() -> None:
    packets = [p for k in range(300) for p in message(3000, number=7, psn=3 * k)]
    flows, _ = followed(packets)
    assert rows(flows) == [(3000, 3, 1, 0, 0, 0)] * 300


def test_lost_before_the_mirror_and_sent_again() -> None:
    packets = message(4000)
    flows, _ = followed([packets[0], packets[1], packets[3], again(packets[2])])
    assert rows(flows) == [(4000, 4, 1, 1, 0, 0)]


def test_seen_and_sent_again() -> None:
    packets = message(4000)
    flows, _ = followed([*packets[:3], again(packets[1]), again(packets[1]), packets[3]])
    assert rows(flows) == [(4000, 4, 1, 2, 0, 0)]


def test_sent_again_after_its_message_was_whole() -> None:
    packets = message(2000)
    flows, _ = followed([*packets, again(packets[0]), *message(2000, number=2, psn=102)])
    assert rows(flows) == [(0, 0, 0, 1, 0, 0), (2000, 2, 1, 0, 0, 0), (2000, 2, 1, 0, 0, 0)]


def test_what_a_mirror_gives_twice_is_no_retransmission() -> None:
    flows, tally = followed([p for packet in message(4000) for p in (packet, packet)])
    assert rows(flows) == [(4000, 4, 1, 0, 0, 0)]
    assert tally["seen twice by a mirror"] == 4


def test_trimmed_packets_met_congestion_and_carry_nothing() -> None:
    packets = message(4000)
    cut = framed(packets[1][:120])
    by_datagram = framed(packets[0][:120], length=8 + len(packets[0]))  # the first: only UDP says how long it was
    frames = [by_datagram, framed(again(packets[0])), cut, framed(packets[2]), framed(packets[3]), framed(again(packets[1]))]
    flows, tally = followed([(1000 * i, frame) for i, frame in enumerate(frames)])
    assert rows(flows) == [(4000, 4, 1, 2, 2, 0)]
    assert tally["trimmed by a switch"] == 2


def test_marks_and_notices() -> None:
    """The data was marked; its receiver says so, and that packets were trimmed: congestion notifications of the way back."""
    data = [(i, framed(packet, tos=3)) for i, packet in enumerate(message(2000))]
    answers = [
        of(uet.ACK_CC, uet.RESPONSE, response(), flags=uet.ECN_MARKED),
        of(uet.NACK, uet.NO_SES, code=1),
        of(uet.NACK, uet.NO_SES, code=7),
        of(uet.NACK, uet.NO_SES, code=0x0D),
        of(uet.ACK, uet.RESPONSE, response()),
        of(uet.CTRL, 6),
    ]
    back = [(1000 + i, framed(packet, src="10.0.0.2", dst="10.0.0.1")) for i, packet in enumerate(answers)]
    flows, tally = followed([*data, *back])
    assert rows(flows) == [(0, 0, 0, 0, 0, 2), (2000, 2, 1, 0, 2, 0)]
    assert flows.dst_port.tolist() == [UET_PORT, UET_PORT]
    assert (flows.endpoints[flows.src[1]], flows.endpoints[flows.dst[1]]) == ("10.0.0.2", "10.0.0.1")
    kinds = {"acknowledgment only": 1, "negative acknowledgment": 1, "receiver not ready": 1, "transport control": 1}
    assert tally == kinds | {"packets seen once": 8}


def test_a_read_is_requested_and_answered() -> None:
    asks = [pds(uet.RUD_REQ, uet.STANDARD, psn=k) + standard(MTU, total=3000, offset=MTU * k, opcode=2) for k in range(3)]
    parts = [(0, 1024), (1024, 1024), (2048, 952)]
    back = [of(uet.ACK_CC, uet.RESPONSE_DATA, response_data(n, offset=at) + bytes(n), psn=k) for k, (at, n) in enumerate(parts)]
    flows, tally = followed(asks + [(10**6 + k, framed(p, src="10.0.0.2", dst="10.0.0.1")) for k, p in enumerate(back)])
    assert rows(flows) == [(0, 0, 1, 0, 0, 0), (3000, 3, 1, 0, 0, 0)]
    assert tally["transport control"] == 2  # the parts of the request after the first
    assert set(flows.job_id.tolist()) == {JOB}


def test_an_answer_to_a_request_sent_again_may_be_the_first() -> None:
    """Its flag shows a retransmitted request: the first request or its answer was lost."""
    parts = [(0, 1024), (1024, 1024), (2048, 952)]
    back = [of(uet.ACK, uet.RESPONSE_DATA, response_data(n, offset=at) + bytes(n), psn=k) for k, (at, n) in enumerate(parts)]
    flows, _ = followed([back[0], again(back[1]), back[2]])
    assert rows(flows) == [(3000, 3, 1, 0, 0, 0)]
    flows, _ = followed([*back, again(back[1])])
    assert rows(flows) == [(3000, 3, 1, 1, 0, 0)]
    flows, tally = followed([p for packet in back for p in (packet, packet)])
    assert rows(flows) == [(3000, 3, 1, 0, 0, 0)]
    assert tally["seen twice by a mirror"] == 3


@pytest.mark.parametrize("kind", [uet.RUDI_REQ, uet.UUD_REQ])
def test_packets_without_a_context_count_one_by_one(kind: int) -> None:
    packets = [of(kind, uet.SMALL, small(64) + bytes(64), psn=5) for _ in range(3)]
    flows, _ = followed(packets)
    assert rows(flows) == [(64, 1, 1, 0, 0, 0)] * 3


def test_a_message_that_was_not_seen_to_its_end() -> None:
    flows, _ = followed(message(9000)[:3])
    assert rows(flows) == [(3 * MTU, 3, 1, 0, 0, 0)]
    flows, _ = followed([p for k, p in enumerate(message(9000)) if k != 4])  # its last packet was seen
    assert rows(flows) == [(9000, 9, 1, 0, 0, 0)]
    flows, _ = followed(message(9000)[2:])  # its first was not: how long it was counts from there on
    assert rows(flows) == [(9000 - 2 * MTU, 7, 1, 0, 0, 0)]


def test_a_context_opened_anew_is_no_copy() -> None:
    """The same ids and PSNs, later: another PDC."""
    once = [(1000 * i, framed(p)) for i, p in enumerate(message(2000, flags=uet.NEW_PDC))]
    flows, tally = followed([*once, *((time + 5_000_000, frame) for time, frame in once)])
    assert rows(flows) == [(2000, 2, 1, 0, 0, 0)] * 2
    assert "seen twice by a mirror" not in tally
    packets = message(200 * MTU, flags=uet.NEW_PDC)
    flows, _ = followed(packets * 2)
    assert flows.octets.tolist() == [200 * MTU] * 2


def test_jobs_of_one_context_are_kept_apart() -> None:
    packets = [p for k in range(6) for p in message(2000, number=k, psn=2 * k, job=1 + k % 2)]
    flows, _ = followed(packets)
    assert sorted(flows.job_id.tolist()) == [1, 1, 1, 2, 2, 2]


def test_a_flow_that_rests_begins_anew() -> None:
    packets = message(4000)
    later = [(10**12 + i, framed(p)) for i, p in enumerate(message(4000, number=2, psn=5))]
    flows, _ = followed([(0, framed(packets[0])), *later])
    assert rows(flows) == [(4000, 4, 1, 0, 0, 0)] * 2  # the first was followed: its end was not captured


def test_records_are_handed_out_on_the_way() -> None:
    decoder = Decoder()
    table = FlowTable(exporters=["s"], addresses=decoder.endpoints, horizon_ns=0)
    packets = message(9000) + message(50_000, number=2, psn=200)[:5]
    frames = [framed(p) for p in packets]
    table.add("s", decoder.later(Batch.of([(1000 * i, frame, len(frame)) for i, frame in enumerate(frames)])))
    first, _ = table.expired(13_000, wait_ns=0)
    assert first.octets.tolist() == [9000]
    rested, _ = table.expired(10**9, wait_ns=1000)
    assert rested.octets.tolist() == [5 * MTU]
    assert len(table.finish()[0]) == 0


def test_two_switches_see_a_packet_once() -> None:
    frames = [framed(packet) for packet in message(4000)]
    batch = Batch.of([(1000 * i, frame, len(frame)) for i, frame in enumerate(frames)])
    decoder = Decoder()
    later = Batch(batch.data, batch.link_type, batch.time_ns + 500, batch.offset, batch.captured, batch.wire)
    flows, _, tally = flows_of({"a": iter([decoder.later(batch)]), "b": iter([decoder.later(later)])}, decoder.endpoints)
    assert rows(flows) == [(4000, 4, 1, 0, 0, 0)]
    assert flows.paths[flows.path[0]] == ("a", "b")
    assert flows.job_id.tolist() == [JOB]
    assert tally["packets seen once"] == 4


@given(st.lists(st.tuples(st.sampled_from(range(12)), st.integers(0, 7), st.booleans()), max_size=200), st.data())
@settings(max_examples=40)
def test_any_packets_give_sound_records(picks: list[tuple[int, int, bool]], data: st.DataObject) -> None:
    """With any loss, duplication or reordering no octet counts twice, and records end."""
    packets = [p for number in range(3) for p in message(4000, number=number, psn=4 * number)]
    chosen = [again(packets[k]) if repeated else packets[k] for k, _, repeated in picks]
    chosen = [p[: data.draw(st.integers(60, 110))] if cut == 0 else p for (_, cut, _), p in zip(picks, chosen, strict=True)]
    flows, _ = followed(chosen)
    assert (flows.octets <= 4000).all()
    assert flows.octets.sum() <= 4000 * np.count_nonzero(flows.messages)
    assert (flows.end_ns >= flows.start_ns).all()
    assert flows.retransmits.sum() <= len(chosen)
