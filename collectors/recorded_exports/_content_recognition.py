"""Recognise exports in UDP payloads by content alone: version, lengths and sets must all be consistent."""

from __future__ import annotations

import struct

from collectors.exports.records.message_loops import IPFIX_HEAD, V5_HEAD, V5_MOST, V5_RECORD, V9_HEAD
from collectors.exports.records.templates import (
    FIRST_DATA_SET,
    IPFIX,
    OPTIONS,
    TEMPLATES,
    V5,
    V9,
    TemplateError,
    unpack_templates,
)

NAMES = {V5: "NetFlow v5", V9: "NetFlow v9", IPFIX: "IPFIX"}
SFLOW = "sFlow"
MAX_SAMPLES = 1000  # of an sFlow datagram: the smallest sample has 8 octets
_PAIR, _WORDS = struct.Struct(">HH"), struct.Struct(">II")
_SFLOW_HEAD = {1: 28, 2: 40}  # by the type of the agent's address, sflow_version_5.txt
_BILLION = 1_000_000_000


def protocol_of(octets: bytes, length: int) -> str:
    """Recognise a payload: a name of `NAMES`, `SFLOW`, or empty. `length`: octets on the wire; the capture may have fewer."""
    if len(octets) < 16:
        return ""
    version, second = _PAIR.unpack_from(octets)
    if version == 0:
        return SFLOW if second == 5 and _is_sflow(octets, length) else ""
    fits = {V5: _is_v5, V9: _is_v9, IPFIX: _is_ipfix}.get(version)
    return NAMES[version] if fits is not None and fits(octets, length) else ""


def _is_v5(octets: bytes, length: int) -> bool:
    count = int.from_bytes(octets[2:4], "big")
    if not 0 < count <= V5_MOST or length != V5_HEAD + count * V5_RECORD or len(octets) < V5_HEAD:
        return False
    return int.from_bytes(octets[12:16], "big") < _BILLION


def _is_v9(octets: bytes, length: int) -> bool:
    return octets[2:4] != b"\0\0" and _has_sets(octets, V9_HEAD, length, V9)


def _is_ipfix(octets: bytes, length: int) -> bool:
    return int.from_bytes(octets[2:4], "big") == length and _has_sets(octets, IPFIX_HEAD, length, IPFIX)


def _has_sets(octets: bytes, at: int, length: int, version: int) -> bool:
    """Check whether sets fill a message exactly, and template sets are valid."""
    sets = 0
    while at + 4 <= len(octets):
        which, size = _PAIR.unpack_from(octets, at)
        if size < 4 or at + size > length or (which < FIRST_DATA_SET and which not in (TEMPLATES[version], OPTIONS[version])):
            return False
        if which < FIRST_DATA_SET and at + size <= len(octets):
            try:
                if not unpack_templates(octets[at + 4 : at + size], version, options=which == OPTIONS[version]):
                    return False
            except TemplateError:
                return False
        at, sets = at + size, sets + 1
    return sets > 0 and (at == length or len(octets) < length)


def _is_sflow(octets: bytes, length: int) -> bool:
    head = _SFLOW_HEAD.get(int.from_bytes(octets[4:8], "big"), 0)
    if not head or len(octets) < head:
        return False
    samples, at = int.from_bytes(octets[head - 4 : head], "big"), head
    if not 0 < samples <= MAX_SAMPLES:
        return False
    for _ in range(samples):
        if at + 8 > len(octets):
            return len(octets) < length
        _, size = _WORDS.unpack_from(octets, at)
        if size % 4 or at + 8 + size > length:
            return False
        at += 8 + size
    return at == length
