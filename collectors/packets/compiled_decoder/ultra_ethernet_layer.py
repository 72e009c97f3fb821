"""Decode Ultra Ethernet packets, compiled; the same results as `ultra_ethernet.unpack_uet`, which names the sources."""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.compilation.primitives import long, octet, part, rare, short
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
from collectors.packets.protocols import KEPT, TRUNCATED

OPAQUE = -1  # neither kept nor refused: a plain datagram
_PDS, _SES = np.array(uet.PDS_OCTETS, np.int64), np.array(uet.SES_OCTETS, np.int64)
_NUMBERED, _UNMARKED, _ACKNOWLEDGES, _REFUSES, _ENDED, _SCARCE, _SILENT, _RENDEZVOUS = (
    np.array([kind in kinds for kind in range(most)], np.bool_)
    for most, kinds in (
        (32, (uet.RUD_REQ, uet.ROD_REQ, uet.RUD_CC_REQ, uet.ROD_CC_REQ)),
        (32, (uet.RUD_REQ, uet.ROD_REQ, uet.RUD_CC_REQ, uet.ROD_CC_REQ, uet.RUDI_REQ, uet.CTRL)),
        (32, (uet.ACK, uet.ACK_CC, uet.ACK_CCX)),
        (32, (uet.NACK, uet.NACK_CCX)),
        (256, uet.TRIMMED_CODES),
        (256, uet.NO_RESOURCE),
        (64, uet.NO_PAYLOAD),
        (64, (uet.RENDEZVOUS, uet.RENDEZVOUS_TAGGED)),
    )
)
_UUD, _CTRL, _STANDARD, _RESPONSE, _SMALL_DATA = uet.UUD_REQ, uet.CTRL, uet.STANDARD, uet.RESPONSE, uet.RESPONSE_DATA_SMALL
_READ, _SOM, _EOM, _LENGTH, _JOB, _ENDPOINT = uet.READ, uet.SOM, uet.EOM, uet.LENGTH, uet.JOB, uet.ENDPOINT
_RETRANSMIT, _MARKED, _NEW_PDC, _EXTENSION = uet.RETRANSMIT, uet.ECN_MARKED, uet.NEW_PDC, uet.RENDEZVOUS_OCTETS
_REFUSED, _NOT_READY = uet.REFUSED, uet.NOT_READY
_LAST_REQUEST = uet.STANDARD


@rare
def unpack_uet(at: Any, end: Any, room: Any, datagram: Any, row: Any) -> Any:
    """`KEPT`, `TRUNCATED`, or `OPAQUE`; writes what is UET's own of the row."""
    if room < 4:
        return OPAQUE
    if at + 2 > end:
        return TRUNCATED
    prologue = short(at)
    kind, after, flags = prologue >> 11, prologue >> 7 & 15, prologue & 0x7F
    pds, ses = _PDS[kind], np.int64(0) if kind == _CTRL else _SES[after]
    if pds == 0 or room < pds + ses or (kind != _CTRL and after != 0 and ses == 0):
        return OPAQUE
    if at + pds + ses > end:
        return TRUNCATED
    if kind == _UUD:
        flags = 0
    elif _UNMARKED[kind]:
        flags &= 0x7F ^ _MARKED
    _numbers(at, kind, pds, row)
    row.dst_qp = row.job_id = row.octets = 0
    row.dma_length = row.syndrome = -1
    what = UET | (RESENT if flags & _RETRANSMIT else 0)
    what |= (OPENS if flags & _NEW_PDC else 0) if _NUMBERED[kind] else UNNUMBERED
    if kind == _CTRL:
        what |= CONTROL
    elif _REFUSES[kind]:
        what |= _refused(octet(at + 2), flags, row)
    elif after == 0:
        what |= _answer(flags) if _ACKNOWLEDGES[kind] else CONTROL
    elif after <= _LAST_REQUEST:
        if after == _STANDARD and at + pds + ses + 4 > end and _asks_extension(at + pds, room - pds - ses):
            return TRUNCATED
        what = _request(at + pds, room - pds - ses, after, what, datagram > room, row)
    else:
        what |= _response(at + pds, room - pds - ses, after, flags, row)
    row.opcode = what
    return KEPT


@part
def _numbers(at: Any, kind: Any, pds: Any, row: Any) -> None:
    """PSN and PDC, 0 where there are none."""
    row.sequence = long(at + 4) if pds >= 8 else 0
    if _ACKNOWLEDGES[kind]:
        row.sequence = long(at + 4) + (short(at + 2) ^ 0x8000) - 0x8000 & 0xFFFFFFFF
    row.acknowledgment = short(at + 8) if pds >= 12 else 0


@part
def _answer(flags: Any) -> Any:
    return NOTICE if flags & _MARKED else ACKNOWLEDGMENT


@part
def _refused(code: Any, flags: Any, row: Any) -> Any:
    if _ENDED[code] or flags & _MARKED:
        return NOTICE
    row.syndrome = _NOT_READY if _SCARCE[code] else _REFUSED
    return ACKNOWLEDGMENT


@part
def _asks_extension(at: Any, rest: Any) -> Any:
    """Whether the eager length of a rendezvous has to be read."""
    return _RENDEZVOUS[octet(at) & 0x3F] and octet(at + 1) & _SOM != 0 and rest >= _EXTENSION


@part
def _request(at: Any, rest: Any, form: Any, what: Any, cut: Any, row: Any) -> Any:
    """What a request does; `rest`: octets behind its header."""
    operation, flags, message = octet(at) & 0x3F, octet(at + 1), short(at + 2)
    length = message & _LENGTH
    expected, begins, ends = length, True, True
    row.job_id = long(at + 4) & _JOB
    row.dst_qp = _ENDPOINT | (short(at + 8) & 0xFFF) << 12 | (short(at + 10) & 0xFFF)
    if form == _STANDARD:
        begins, ends, length = flags & _SOM != 0, flags & _EOM != 0, long(at + 40)
        row.acknowledgment = message << 16 | np.int64(row.acknowledgment)
        if begins and _RENDEZVOUS[operation]:
            if rest >= _EXTENSION:
                length = min(length, long(at + 44))
            rest -= _EXTENSION
        expected = (length if ends else 0) if begins else long(at + 32) & _LENGTH
    if _SILENT[operation]:
        asks = operation == _READ and begins and not what & RESENT
        return what | (OTHER if asks else CONTROL)
    what |= NAMED | (BEGINS if begins else 0) | (ENDS if ends else 0)
    row.dma_length = length if begins else -1
    if cut or expected > rest:
        return what | TRIMMED
    row.octets = max(0, min(rest, length if begins else expected))
    return what


@part
def _response(at: Any, rest: Any, form: Any, flags: Any, row: Any) -> Any:
    """What a response does; `rest`: octets behind its header."""
    row.job_id = long(at + 4) & _JOB
    if form == _RESPONSE:
        return _answer(flags)
    begins, whole, length = True, form == _SMALL_DATA, short(at + 2) & _LENGTH
    if not whole:
        begins, length = long(at + 16) == 0, short(at + 10) & _LENGTH
        row.acknowledgment = short(at + 8) << 16 | np.int64(row.acknowledgment)
    what = NAMED | ANSWER | (BEGINS if begins else 0) | (ENDS if whole else 0)
    row.dma_length = length if whole else -1
    if length > rest:
        return what | TRIMMED
    row.octets = length
    return what
