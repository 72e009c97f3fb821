"""Decode sampled frames from exporters with the packet decoder, down to the BTH."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.addresses.address_book import AddressBook, Longs
from collectors.addresses.address_list import AddressList
from collectors.aggregation.batch_decoder import Decoder
from collectors.columns.record import Codes, Ints, Packets
from collectors.packets.frame_batch import Batch
from collectors.packets.packet_kinds import MEANING, NOTICE, RESENT, TRIMMED, UET

Columns = dict[str, NDArray[Any]]
MOST_ADDRESSES = 1 << 20
MAX_FRAMES = 1 << 16  # decoded at once
ETHERNET, RAW_IP = 1, 101  # link types, https://www.tcpdump.org/linktypes.html


class Framed(NamedTuple):
    """Columns of flow records of decodable frames, their frame numbers, and reasons for the others."""

    columns: Columns
    rows: Ints
    reasons: dict[str, int]


class Frames:
    """Decodes frames; src and dst of its columns are codes into `endpoints`, until `refresh`."""

    def __init__(self) -> None:
        self._decoder = Decoder(AddressBook())

    @property
    def endpoints(self) -> AddressList:
        """Return the addresses; the same object until a new one is added."""
        return self._decoder.endpoints.now()

    def codes(self, high: Longs, low: Longs) -> Codes:
        """Return the codes of addresses given as upper and lower 64 bits, [n] each."""
        return self._decoder.book.codes(high, low)

    def refresh(self) -> None:
        """Restart the numbering of addresses if there are too many."""
        if len(self._decoder.endpoints) > MOST_ADDRESSES:
            self._decoder = Decoder(AddressBook())

    def decode(self, data: bytes, offset: Ints, captured: Ints, wire: Ints, link_type: Ints) -> Framed:
        """Decode frames in a buffer: frame i has `captured[i]` octets from `offset[i]`, and had `wire[i]`. Raises nothing.

        A frame is one packet: its octets are payload, as in records from captures.
        """
        before = self._decoder.skipped.copy()
        parts: list[tuple[Columns, Ints]] = []
        for begin in range(0, max(len(offset), 1), MAX_FRAMES):
            some = slice(begin, begin + MAX_FRAMES)
            order = np.arange(begin, begin + len(offset[some]), dtype=np.int64)
            batch = Batch(data, link_type[some], order, offset[some], captured[some], wire[some])
            packets = self._decoder.decode(batch)
            parts.append((_columns(packets), packets.time_ns))  # the time of each packet is its frame number
        columns = {name: np.concatenate([part[name] for part, _ in parts]) for name in parts[0][0]}
        reasons = dict(self._decoder.skipped - before)
        return Framed(columns, np.concatenate([rows for _, rows in parts]), reasons)


def _columns(p: Packets) -> Columns:
    rdma, named = p.opcode >= 0, p.opcode >= UET  # the latter: Ultra Ethernet, which marks retransmissions
    notice = rdma & (MEANING[np.maximum(p.opcode, 0)] == NOTICE)
    resent = named & (p.opcode & RESENT > 0) & (p.octets > 0)
    empty = notice | resent
    return {
        "src": p.src,
        "dst": p.dst,
        "src_port": np.where(rdma, 0, p.src_port),
        "dst_port": p.dst_port,
        "protocol": p.protocol,
        "dst_qp": p.dst_qp,
        "octets": np.where(empty, 0, p.octets),
        "packets": ((p.octets > 0) & ~empty).astype(np.int64),
        "retransmits": resent.astype(np.int64),
        "ecn": (p.ecn | (named & (p.opcode & TRIMMED > 0))).astype(np.int64),
        "cnp": notice.astype(np.int64),
        "tcp_flags": p.tcp_flags,
        "job_id": p.job_id,
    }
