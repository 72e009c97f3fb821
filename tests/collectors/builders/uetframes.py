"""Packets of Ultra Ethernet, built from the pack functions of `ultra_ethernet`: what follows UDP port 4793."""

from __future__ import annotations

from collectors.columns.record import UET_PORT
from collectors.packets import ultra_ethernet as uet
from tests.collectors.builders.frames import ethernet, ipv4, udp

JOB, PID, INDEX = 0xABCDE, 3, 7
ENDPOINT = 1 << 24 | PID << 12 | INDEX
EXTRA = {uet.RUD_CC_REQ: 4, uet.ROD_CC_REQ: 4, uet.ACK_CC: 20, uet.ACK_CCX: 28, uet.NACK_CCX: 16}


def prologue(kind: int, after: int, flags: int = 0) -> int:
    return kind << 11 | after << 7 | flags


def pds(kind: int, after: int, *, flags: int = 0, psn: int = 100, pdc: int = 5, code: int = 0) -> bytes:
    """The PDS header of a type."""
    word = prologue(kind, after, flags)
    if kind in (uet.NACK, uet.NACK_CCX):
        return uet.pack_nack(uet.Nack(word, code, 0, psn, pdc, 9, 0)) + bytes(EXTRA.get(kind, 0))
    if kind == uet.CTRL:
        return uet.pack_request(uet.Request(word, 0, psn, pdc, 9)) + bytes(4)
    if kind in (uet.RUDI_REQ, uet.RUDI_RESP):
        return word.to_bytes(2, "big") + bytes(2) + psn.to_bytes(4, "big")
    if kind == uet.UUD_REQ:
        return word.to_bytes(2, "big") + bytes(2)
    return uet.pack_request(uet.Request(word, -1, psn, pdc, 9)) + bytes(EXTRA.get(kind, 0))


def common(opcode: int, message: int, flags: int, job: int) -> bytes:
    return uet.pack_common(uet.Common(opcode, flags, message, 0x5A << 24 | job, PID, INDEX))


def standard(
    payload: int,
    *,
    total: int,
    offset: int = 0,
    message: int = 1,
    opcode: int = 1,
    job: int = JOB,
    som: bool | None = None,
    eom: bool | None = None,
) -> bytes:
    """A standard SES request: the first packet of a message, or one at an offset. WRITE by default."""
    begins = offset == 0 if som is None else som
    ends = offset + payload >= total if eom is None else eom
    data = 0x1122334455667788 if begins else payload << 32 | offset
    fields = uet.Standard(1 << 40, 77, 1 << 50, data, total)
    return common(opcode, message, begins * uet.SOM | ends * uet.EOM, job) + uet.pack_standard(fields)


def small(payload: int, *, opcode: int = 5, job: int = JOB, form: int = uet.SMALL) -> bytes:
    return common(opcode, payload, uet.SOM | uet.EOM, job) + bytes(uet.SES_OCTETS[form] - 12)


def response(*, job: int = JOB) -> bytes:
    return uet.pack_response(uet.Response(0, 1, 4, job)) + bytes(4)


def response_data(payload: int, *, offset: int = 0, message: int = 1, job: int = JOB) -> bytes:
    data = uet.ResponseData(message, payload, 0, offset)
    return uet.pack_response(uet.Response(2, 1, 4, job)) + uet.pack_response_data(data)


def response_data_small(payload: int, *, job: int = JOB) -> bytes:
    return uet.pack_response(uet.Response(2, 1, payload, job)) + bytes(4)


def framed(packet: bytes, *, length: int | None = None, tos: int = 0, src: str = "10.0.0.1", dst: str = "10.0.0.2") -> bytes:
    """A frame of Ethernet; `length`: what the UDP header says, where that is not so."""
    datagram = udp(packet, ports=(50_000, UET_PORT))
    if length is not None:
        datagram = datagram[:4] + length.to_bytes(2, "big") + datagram[6:]
    return ethernet(ipv4(datagram, 17, tos=tos, src=src, dst=dst))


def write(payload: int, *, kind: int = uet.RUD_REQ, flags: int = 0, psn: int = 100, pdc: int = 5, **fields: int) -> bytes:
    """A packet of a WRITE with its payload."""
    head = pds(kind, uet.STANDARD, flags=flags, psn=psn, pdc=pdc)
    return head + standard(payload, **fields) + b"x" * payload  # type: ignore[arg-type]


def of(kind: int, after: int, ses: bytes = b"", **fields: int) -> bytes:
    """Any packet."""
    return pds(kind, after, **fields) + ses


FLAGGED = uet.ECN_MARKED | uet.RETRANSMIT
PACKETS: dict[str, bytes] = {
    "WRITE, whole": write(1024, total=1024),
    "WRITE, first": write(1024, total=4000, flags=uet.NEW_PDC),
    "WRITE, middle": write(1024, total=4000, offset=1024, psn=101, kind=uet.ROD_REQ),
    "WRITE, last": write(928, total=4000, offset=3072, psn=103, kind=uet.RUD_CC_REQ),
    "WRITE, again": write(928, total=4000, offset=3072, psn=103, kind=uet.ROD_CC_REQ, flags=FLAGGED),
    "WRITE, checksum behind": write(1024, total=1024) + bytes(4),
    "WRITE, trimmed": write(1024, total=4000, offset=1024)[:120],
    "WRITE of one packet, trimmed": write(1024, total=1024)[:120],
    "READ": of(uet.RUD_REQ, uet.STANDARD, standard(0, total=1 << 20, opcode=2, eom=True)),
    "READ, again": of(uet.RUD_REQ, uet.STANDARD, standard(0, total=1 << 20, opcode=2), flags=uet.RETRANSMIT),
    "READ, next part": of(uet.RUD_REQ, uet.STANDARD, standard(1024, offset=1024, total=1 << 20, opcode=2)),
    "rendezvous": of(uet.RUD_REQ, uet.STANDARD, standard(0, total=1 << 20, opcode=6)) + (64).to_bytes(4, "big") + bytes(84),
    "rendezvous, tagged": of(uet.RUD_REQ, uet.STANDARD, standard(0, total=1 << 20, opcode=10)) + bytes(4),
    "no operation": of(uet.RUD_REQ, uet.STANDARD, standard(0, total=0, opcode=0)),
    "atomic": of(uet.RUD_REQ, uet.SMALL, small(8, opcode=3)) + bytes(4) + b"x" * 8,
    "SEND, small": of(uet.RUD_REQ, uet.SMALL, small(64)) + b"x" * 64,
    "SEND, medium": of(uet.ROD_REQ, uet.MEDIUM, small(64, form=uet.MEDIUM)) + b"x" * 64,
    "READ, small": of(uet.ROD_REQ, uet.SMALL, small(64, opcode=2)),
    "RUDI": of(uet.RUDI_REQ, uet.SMALL, small(64), flags=FLAGGED) + b"x" * 64,
    "RUDI, answer": of(uet.RUDI_RESP, uet.RESPONSE, response(), flags=uet.ECN_MARKED),
    "UUD": of(uet.UUD_REQ, uet.MEDIUM, small(64, form=uet.MEDIUM, opcode=7), flags=0x7F) + b"x" * 64,
    "ACK": of(uet.ACK, uet.RESPONSE, response()),
    "ACK without SES": of(uet.ACK, uet.NO_SES),
    "ACK, marked": of(uet.ACK_CC, uet.RESPONSE, response(), flags=uet.ECN_MARKED),
    "ACK with data": of(uet.ACK_CCX, uet.RESPONSE_DATA, response_data(1024, offset=2048)) + b"x" * 1024,
    "ACK with little data": of(uet.ACK, uet.RESPONSE_DATA_SMALL, response_data_small(16)) + b"x" * 16,
    "ACK with data, trimmed": of(uet.ACK, uet.RESPONSE_DATA, response_data(1024)) + b"x" * 30,
    "response as a request": of(uet.RUD_REQ, uet.RESPONSE, response(), flags=uet.ECN_MARKED),
    "data as a request": of(uet.ROD_REQ, uet.RESPONSE_DATA, response_data(1024)) + b"x" * 1024,
    "NACK, trimmed": of(uet.NACK, uet.NO_SES, code=1),
    "NACK, no resource": of(uet.NACK, uet.NO_SES, code=7),
    "NACK, out of order": of(uet.NACK_CCX, uet.RESPONSE, response(), code=0x0D),
    "NACK, marked": of(uet.NACK, uet.NO_SES, code=0xFE, flags=uet.ECN_MARKED),
    "control": of(uet.CTRL, 6, flags=FLAGGED),
    "request without SES": of(uet.RUD_REQ, uet.NO_SES),
    "encrypted": (uet.TSS << 11).to_bytes(2, "big") + bytes(200),
    "unknown type": (20 << 11).to_bytes(2, "big") + bytes(200),
    "unknown next header": of(uet.RUD_REQ, 9, bytes(100)),
    "too short": of(uet.RUD_REQ, uet.STANDARD, bytes(20)),
    "nothing": b"",
    "three octets": b"\x10\x80\0",
}
