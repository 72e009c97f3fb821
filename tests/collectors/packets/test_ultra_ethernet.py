"""Test the headers of Ultra Ethernet against octets written by hand from the specification's figures."""

import struct

import pytest

from collectors.packets import plain_decoder
from collectors.packets import ultra_ethernet as uet
from collectors.packets.packet_kinds import (
    ACKNOWLEDGMENT,
    ANSWER,
    BEGINS,
    CONTROL,
    ENDS,
    NAMED,
    NOTICE,
    OPENS,
    OTHER,
    RESENT,
    TRIMMED,
    UET,
    UNNUMBERED,
)
from collectors.packets.plain_decoder import TRUNCATED, Packet
from tests.collectors.builders.frames import ethernet, ipv6, udp
from tests.collectors.builders.uetframes import ENDPOINT, JOB, PACKETS, framed, of, response, standard, write

ONCE = NAMED | BEGINS | ENDS
LIKE = {
    "WRITE, whole": (ONCE, 1024, 1024),
    "WRITE, first": (NAMED | BEGINS | OPENS, 1024, 4000),
    "WRITE, middle": (NAMED, 1024, -1),
    "WRITE, last": (NAMED | ENDS, 928, -1),
    "WRITE, again": (NAMED | ENDS | RESENT, 928, -1),
    "WRITE, checksum behind": (ONCE, 1024, 1024),
    "WRITE, trimmed": (NAMED | TRIMMED, 0, -1),
    "WRITE of one packet, trimmed": (ONCE | TRIMMED, 0, 1024),
    "READ": (OTHER, 0, -1),
    "READ, again": (CONTROL | RESENT, 0, -1),
    "READ, next part": (CONTROL, 0, -1),
    "rendezvous": (NAMED | BEGINS, 64, 64),
    "no operation": (CONTROL, 0, -1),
    "atomic": (ONCE, 8, 8),
    "SEND, small": (ONCE, 64, 64),
    "SEND, medium": (ONCE, 64, 64),
    "READ, small": (OTHER, 0, -1),
    "RUDI": (ONCE | RESENT | UNNUMBERED, 64, 64),
    "RUDI, answer": (NOTICE | UNNUMBERED, 0, -1),
    "UUD": (ONCE | UNNUMBERED, 64, 64),
    "ACK": (ACKNOWLEDGMENT | UNNUMBERED, 0, -1),
    "ACK without SES": (ACKNOWLEDGMENT | UNNUMBERED, 0, -1),
    "ACK, marked": (NOTICE | UNNUMBERED, 0, -1),
    "ACK with data": (NAMED | ANSWER | UNNUMBERED, 1024, -1),
    "ACK with little data": (ONCE | ANSWER | UNNUMBERED, 16, 16),
    "ACK with data, trimmed": (NAMED | ANSWER | BEGINS | TRIMMED | UNNUMBERED, 0, -1),
    "response as a request": (ACKNOWLEDGMENT, 0, -1),
    "data as a request": (NAMED | ANSWER | BEGINS, 1024, -1),
    "NACK, trimmed": (NOTICE | UNNUMBERED, 0, -1),
    "NACK, no resource": (ACKNOWLEDGMENT | UNNUMBERED, 0, -1),
    "NACK, out of order": (ACKNOWLEDGMENT | UNNUMBERED, 0, -1),
    "NACK, marked": (NOTICE | UNNUMBERED, 0, -1),
    "control": (CONTROL | RESENT | UNNUMBERED, 0, -1),
    "request without SES": (CONTROL, 0, -1),
}
PLAIN = ("encrypted", "unknown type", "unknown next header", "too short", "nothing", "three octets")


def row(frame: bytes, wire: int = 0) -> Packet:
    found = plain_decoder.unpack(frame, wire or len(frame), 1)
    assert isinstance(found, Packet), found
    return found


def test_a_write_octet_by_octet() -> None:
    """UE specification 1.0.1: PDS request (type 2, next header 3, SYN), SES standard header of the first packet."""
    head = bytes.fromhex(
        "1184"  # type 2 (5 bits), next header 3 (4 bits), flags SYN (7 bits): 00010 0011 0000100
        "ffff"  # clear PSN offset -1
        "00000064"  # PSN 100
        "0005"  # source PDC
        "8003"  # with SYN: mode, PSN offset
        "01"  # WRITE
        "0d"  # version 0, relative addressing, header data, start of message
        "0102"  # message id
        "ff0abcde"  # generation of the index, job id
        "f003"  # PIDonFEP below 4 reserved bits
        "f007"  # resource index below 4 reserved bits
        "0000010000000000"  # buffer offset
        "0000004d"  # initiator
        "0004000000000000"  # match bits
        "1122334455667788"  # header data
        "00000fa0"  # request length 4000
    )
    found = row(framed(head + bytes(1024)))
    assert found.opcode == UET | OPENS | NAMED | BEGINS
    assert (found.sequence, found.acknowledgment) == (100, 0x0102 << 16 | 5)
    assert (found.octets, found.dma_length, found.dst_qp, found.job_id) == (1024, 4000, ENDPOINT, 0x0ABCDE)


@pytest.mark.parametrize("name", LIKE)
def test_what_packets_do(name: str) -> None:
    what, octets, length = LIKE[name]
    found = row(framed(PACKETS[name]))
    assert (found.opcode, found.octets, found.dma_length) == (UET | what, octets, length)
    if what & 7 in (NAMED, OTHER):
        assert found.job_id == JOB


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_no_ultra_ethernet_or_encrypted_is_a_datagram(name: str) -> None:
    found = row(framed(PACKETS[name]))
    assert (found.opcode, found.octets, found.job_id, found.dma_length) == (-1, len(PACKETS[name]), 0, -1)


def test_an_acknowledgment_has_the_psn_of_what_it_answers() -> None:
    assert row(framed(of(uet.ACK, uet.NO_SES, psn=100))).sequence == 99  # cumulative PSN 100, offset -1
    assert row(framed(of(uet.ACK_CC, uet.NO_SES, psn=0))).sequence == 2**32 - 1
    assert row(framed(of(uet.RUD_REQ, uet.NO_SES, psn=100))).sequence == 100


def test_negative_acknowledgments_by_code() -> None:
    kinds = {code: row(framed(of(uet.NACK, uet.NO_SES, code=code))) for code in range(256)}
    assert {code for code, found in kinds.items() if found.opcode & 7 == NOTICE} == {1, 2, 3}
    assert {code for code, found in kinds.items() if found.syndrome == uet.NOT_READY} == set(range(4, 11))
    assert sum(found.syndrome == uet.REFUSED for found in kinds.values()) == 256 - 3 - 7


def test_every_type_and_next_header_has_a_row() -> None:
    for kind in range(32):
        for after in range(16):
            whole = (kind << 11 | after << 7).to_bytes(2, "big") + bytes(150)
            found = row(framed(whole))
            assert 0 <= found.octets <= 152
            assert (found.opcode >= UET) == (bool(uet.PDS_OCTETS[kind]) and (kind == uet.CTRL or after <= 6))


def test_over_ipv6_with_the_mark_of_congestion() -> None:
    frame = ethernet(ipv6(udp(write(64, total=64), ports=(9, 4793)), 17, traffic_class=3), 0x86DD)
    assert (row(frame).octets, row(frame).ecn, row(frame).job_id) == (64, True, JOB)


@pytest.mark.parametrize("name", LIKE)
def test_cut_anywhere_it_is_the_packet_or_was_cut(name: str) -> None:
    """Truncated frames: missing fields are not read, and nothing else is read instead."""
    frame = framed(PACKETS[name])
    whole = row(frame)
    for captured in range(len(frame)):
        assert plain_decoder.unpack(frame[:captured], len(frame), 1) in (TRUNCATED, whole), captured


def test_a_trimmed_packet_by_the_length_of_its_datagram() -> None:
    """Only UDP still shows the length of the first packet of a message."""
    whole = write(1024, total=4000)
    found = row(framed(whole[:200], length=8 + len(whole)))
    assert (found.opcode, found.octets) == (UET | NAMED | BEGINS | TRIMMED, 0)
    assert row(framed(whole, length=0)).octets == 1024  # a jumbogram says 0


def test_lengths_that_cannot_be_count_no_more_than_there_is() -> None:
    for head in (
        standard(0x3FFF, total=2**32 - 1, offset=5),
        standard(0, total=2**32 - 1, som=True, eom=True),
        standard(0, total=2**32 - 1, som=True, eom=False),
        standard(0, total=0, opcode=6, som=True, eom=True),
        standard(0, total=5, som=False, eom=False),
    ):
        found = row(framed(of(uet.RUD_REQ, uet.STANDARD, head) + bytes(10)))
        assert found.octets <= 10


def test_packers_and_unpackers_are_twins() -> None:
    word = uet.Request(0x1184, -1, 2**32 - 1, 5, 9)
    assert uet.unpack_request(uet.pack_request(word), 0) == word
    assert len(uet.pack_request(word)) == uet.PDS_OCTETS[uet.RUD_REQ]
    assert len(response()) == uet.SES_OCTETS[uet.RESPONSE]
    assert len(standard(1, total=1)) == uet.SES_OCTETS[uet.STANDARD]
    with pytest.raises(struct.error):
        uet.unpack_nack(bytes(15), 0)
