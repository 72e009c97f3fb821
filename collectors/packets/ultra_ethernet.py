"""Decode Ultra Ethernet Transport (UET) over UDP. `ultra_ethernet_layer` gives the same results, compiled.

Source: Ultra Ethernet Specification 1.0.1, sections "Packet Delivery Sublayer" (PDS), "Semantic Sublayer" (SES) and 4.3.6,
"Header Parsing Guide". Every field was compared with three implementations: the dissector of Wireshark (packet-uet.c, 2025),
the reference provider of the consortium (uet-ref-prov, uet_pkt_hdr.h, headers of version 1.0) and XDP2 (uet/pds.h, uet/ses.h).
If one of them differs, the other two agree: the lengths of the CCX headers and the payload length of a response with data
follow the first two, the small response with data has the 12 octets of the last two.

Not decoded, because the sources disagree or lack it: UET without UDP (its IP protocol number is not assigned), data encrypted
by TSS, extension headers except the eager length of a rendezvous, the checksum behind the payload.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from collectors.packets.headers import struct_functions
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

# Types of PDS packets, the upper 5 bits of the prologue; the next header, or the type of a control packet, is in bits 7 to 10
TSS, RUD_REQ, ROD_REQ, RUDI_REQ, RUDI_RESP, UUD_REQ, ACK, ACK_CC, ACK_CCX = range(1, 10)
NACK, CTRL, NACK_CCX, RUD_CC_REQ, ROD_CC_REQ = range(10, 15)
NO_SES, SMALL, MEDIUM, STANDARD, RESPONSE, RESPONSE_DATA, RESPONSE_DATA_SMALL = range(7)
RETRANSMIT, ECN_MARKED, NEW_PDC = 0x10, 0x20, 0x04  # flags of PDS; the second: the acknowledged packet was marked
# Octets of the PDS header by type, of the SES header by next header; 0: undefined type
PDS_OCTETS = (0, 0, 12, 12, 8, 8, 4, 12, 32, 40, 16, 16, 32, 16, 16) + (0,) * 17
SES_OCTETS = (0, 20, 32, 44, 12, 20, 12) + (0,) * 9
READ, RENDEZVOUS, RENDEZVOUS_TAGGED = 0x02, 0x06, 0x0A  # SES opcodes
NO_PAYLOAD = (0x00, READ, 0x0C, 0x0F)  # no operation, READ, ready to restart, message in error
SOM, EOM = 0x01, 0x02  # flags of SES: start and end of message
RENDEZVOUS_OCTETS = 24  # of the extension header, which begins with the eager length
LENGTH, JOB = 0x3FFF, 0xFFFFFF  # a payload length has 14 bits, a job id 24
ENDPOINT = 1 << 24  # above PIDonFEP and resource index of 12 bits each, so that those of 0 are an endpoint too
TRIMMED_CODES = (0x01, 0x02, 0x03)  # NACK: packet trimmed, at the last hop, an ACK with data
NO_RESOURCE = range(0x04, 0x0B)  # NACK: no PDC, CCC, bitmap, packet buffer, delivery, message state, or other resource
REFUSED, NOT_READY = 0x60, 0x20  # as the syndrome of an AETH says it


class Request(NamedTuple):
    """PDS header of a request, and of an acknowledgment: there the cumulative PSN, and the offset of its own PSN from it."""

    prologue: int
    clear_psn_offset: int
    psn: int
    source_pdc: int
    destination_pdc: int  # with the SYN flag: mode and offset from the first PSN


class Nack(NamedTuple):
    """PDS header of a negative acknowledgment."""

    prologue: int
    code: int
    vendor_code: int
    psn: int
    source_pdc: int
    destination_pdc: int
    payload: int


class Common(NamedTuple):
    """First fields of each SES request; `message`: its id; in small and medium requests the length."""

    opcode: int
    flags: int
    message: int
    job: int  # 24 bits; above them the generation of the index
    pid_on_fep: int  # 12 bits
    resource_index: int  # 12 bits


class Standard(NamedTuple):
    """Further fields of a standard request. In packets after the first, `header_data` has payload length and message offset."""

    buffer_offset: int
    initiator: int
    match_bits: int
    header_data: int
    request_length: int


class Response(NamedTuple):
    """First fields of each SES response; `message`: its id; in a small response with data the length of the payload."""

    opcode: int
    return_code: int
    message: int
    job: int


class ResponseData(NamedTuple):
    """Further fields of a response with data."""

    read_message: int
    payload_length: int
    modified_length: int
    message_offset: int


unpack_request, pack_request = struct_functions("!HhIHH", Request)
unpack_nack, pack_nack = struct_functions("!HBBIHHI", Nack)
unpack_common, pack_common = struct_functions("!BBHIHH", Common)
unpack_standard, pack_standard = struct_functions("!QIQQI", Standard)
unpack_response, pack_response = struct_functions("!BBHI", Response)
unpack_response_data, pack_response_data = struct_functions("!HHII", ResponseData)


class Uet(NamedTuple):
    """Fields that a packet adds to a row: see `plain_decoder.Packet`. `names`: the id of its message, and in the lower
    16 bits its PDC.
    """

    opcode: int
    sequence: int
    names: int
    dst_qp: int
    dma_length: int
    octets: int
    syndrome: int
    job_id: int


def unpack_uet(frame: bytes, at: int, room: int, datagram: int) -> Uet | None:
    """Decode the packet in a UDP datagram; None if it is not UET or is encrypted. struct.error if the frame was truncated.

    `room`: octets behind the UDP header according to IP; `datagram`: according to UDP, more than `room` if a switch trimmed the
    packet.
    """
    if room < 4:
        return None
    prologue = struct.unpack_from("!H", frame, at)[0]
    kind, after, flags = prologue >> 11, prologue >> 7 & 15, prologue & 0x7F
    pds = PDS_OCTETS[kind]
    ses = 0 if kind == CTRL else SES_OCTETS[after]
    if not pds or room < pds + ses or (kind != CTRL and after and not ses):
        return None
    if at + pds + ses > len(frame):
        raise struct.error
    numbered = kind in (RUD_REQ, ROD_REQ, RUD_CC_REQ, ROD_CC_REQ)
    psn = struct.unpack_from("!I", frame, at + 4)[0] if pds >= 8 else 0
    pdc = struct.unpack_from("!H", frame, at + 8)[0] if pds >= 12 else 0
    if kind in (ACK, ACK_CC, ACK_CCX):  # of the request that is answered, which data in the answer has no other number than
        psn = psn + unpack_request(frame, at).clear_psn_offset & 0xFFFFFFFF
    flags &= 0 if kind == UUD_REQ else ~ECN_MARKED if numbered or kind in (RUDI_REQ, CTRL) else ~0
    opcode = UET | RESENT * bool(flags & RETRANSMIT)
    opcode |= OPENS * bool(flags & NEW_PDC) if numbered else UNNUMBERED
    found = Uet(opcode, psn, pdc, 0, -1, 0, -1, 0)
    if kind == CTRL:
        return found._replace(opcode=found.opcode | CONTROL)
    if kind in (NACK, NACK_CCX):
        return _unpack_nack(found, unpack_nack(frame, at).code, flags)
    if after in (SMALL, MEDIUM, STANDARD):
        return _unpack_request(frame, at + pds, room - pds, after, found, datagram > room)
    if after:
        return _unpack_response(frame, at + pds, room - pds, after, found, flags)
    return found._replace(opcode=found.opcode | (_answer(flags) if kind in (ACK, ACK_CC, ACK_CCX) else CONTROL))


def _answer(flags: int) -> int:
    """Decode a packet without payload that acknowledges others."""
    return NOTICE if flags & ECN_MARKED else ACKNOWLEDGMENT


def _unpack_nack(found: Uet, code: int, flags: int) -> Uet:
    if code in TRIMMED_CODES or flags & ECN_MARKED:
        return found._replace(opcode=found.opcode | NOTICE)
    return found._replace(opcode=found.opcode | ACKNOWLEDGMENT, syndrome=NOT_READY if code in NO_RESOURCE else REFUSED)


def _unpack_request(frame: bytes, at: int, room: int, form: int, found: Uet, cut: bool) -> Uet:
    """Decode a request and its payload. The request length limits it, so that neither extension headers nor a checksum
    count.
    """
    common, rest = unpack_common(frame, at), room - SES_OCTETS[form]
    operation, begins, ends = common.opcode & 0x3F, True, True
    expected = length = common.message & LENGTH
    if form == STANDARD:
        standard = unpack_standard(frame, at + 12)
        begins, ends = bool(common.flags & SOM), bool(common.flags & EOM)
        length, found = standard.request_length, found._replace(names=common.message << 16 | found.names)
        if begins and operation in (RENDEZVOUS, RENDEZVOUS_TAGGED):
            rest -= RENDEZVOUS_OCTETS
            if rest >= 0:
                length = min(length, struct.unpack_from("!I", frame, at + SES_OCTETS[form])[0])
        expected = standard.header_data >> 32 & LENGTH if not begins else length if ends else 0
    endpoint = ENDPOINT | (common.pid_on_fep & 0xFFF) << 12 | common.resource_index & 0xFFF
    found = found._replace(dst_qp=endpoint, job_id=common.job & JOB)
    if operation in NO_PAYLOAD:
        asks = operation == READ and begins and not found.opcode & RESENT
        return found._replace(opcode=found.opcode | (OTHER if asks else CONTROL))
    trimmed = TRIMMED * (cut or expected > rest)
    octets = 0 if trimmed else max(0, min(rest, length if begins else expected))
    opcode = found.opcode | NAMED | BEGINS * begins | ENDS * ends | trimmed
    return found._replace(opcode=opcode, octets=octets, dma_length=length if begins else -1)


def _unpack_response(frame: bytes, at: int, room: int, form: int, found: Uet, flags: int) -> Uet:
    """Decode a response, and the payload of a READ."""
    response, rest = unpack_response(frame, at), room - SES_OCTETS[form]
    found = found._replace(job_id=response.job & JOB)
    if form == RESPONSE:
        return found._replace(opcode=found.opcode | _answer(flags))
    begins, whole, length = True, form == RESPONSE_DATA_SMALL, response.message & LENGTH
    if not whole:
        data = unpack_response_data(frame, at + 8)
        begins, length = not data.message_offset, data.payload_length & LENGTH
        found = found._replace(names=data.read_message << 16 | found.names)
    trimmed = TRIMMED * (length > rest)
    opcode = found.opcode | NAMED | ANSWER | BEGINS * begins | ENDS * whole | trimmed
    return found._replace(opcode=opcode, octets=0 if trimmed else length, dma_length=length if whole else -1)
