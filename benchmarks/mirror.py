"""Make a random capture of any size, like that of a mirror port of a training cluster's switch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.captures import pcap
from collectors.columns.record import ACK, PSH, ROCE_PORT, TCP, UDP, Ints
from collectors.packets import headers

Octets = NDArray[np.uint8]
SNAPLEN, MTU, SEGMENT = 128, 4096, 1448
START = 1_795_214_542_000_000_000
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, ACKNOWLEDGE = 6, 7, 8, 17
NEGATIVE = 0x60  # syndrome: PSN sequence error


class Mix(NamedTuple):
    """Mix of traffic: queue pairs, TCP connections, hosts; number of active ones; shares of all packets.

    `answers`: acknowledgments among RoCEv2 packets; `marked`: data packets with congestion marks; `lost`: share after which a
    queue pair goes back by `back` packets.
    """

    queue_pairs: int = 4096
    connections: int = 512
    hosts: int = 256
    active: int = 96
    window: int = 16_384
    tcp: float = 0.07
    answers: float = 0.04
    marked: float = 0.001
    lost: float = 0.0001
    back: int = 8


class Mirror:
    """Writes packets of a mix, reproducible by seed."""

    def __init__(self, seed: int = 1, mix: Mix | None = None) -> None:
        self.random, self.mix = np.random.default_rng(seed), mix or Mix()
        m = self.mix
        self.length = self.random.choice([16, 64, 256, 1024], m.queue_pairs)  # packets of a message
        self.psn = self.random.integers(0, 1 << 24, m.queue_pairs)
        self.place = np.zeros(m.queue_pairs, np.int64)
        self.sequence = self.random.integers(0, 1 << 32, m.connections)
        self.now = START

    def write(self, path: Path, packets: int) -> None:
        """Write a pcap of `packets` packets, cut to `SNAPLEN`."""
        with pcap.Writer(path, snaplen=SNAPLEN) as file:
            for done in range(0, packets, self.mix.window):
                file.add(*self.some(min(self.mix.window, packets - done)))

    def some(self, n: int) -> tuple[Ints, Octets, Ints, Ints]:
        """Make the next packets: times, octets [n, SNAPLEN], captured octets, octets on the wire."""
        r, m = self.random, self.mix
        frames = np.zeros((n, SNAPLEN), np.uint8)
        tcp = r.random(n) < m.tcp
        wire = np.zeros(n, np.int64)
        wire[~tcp] = self._roce(frames, np.flatnonzero(~tcp))
        wire[tcp] = self._tcp(frames, np.flatnonzero(tcp))
        time_ns = self.now + np.cumsum(r.integers(20, 140, n))
        self.now = int(time_ns[-1])
        return time_ns, frames, np.minimum(wire, SNAPLEN), wire

    def _roce(self, frames: Octets, rows: NDArray[np.intp]) -> Ints:
        r, m, n = self.random, self.mix, len(rows)
        pair = r.choice(r.integers(0, m.queue_pairs, m.active), n)
        answer, nth = r.random(n) < m.answers, np.zeros(n, np.int64)
        back = (r.random(n) < m.lost) & ~answer
        order = np.argsort(pair, kind="stable")
        same = np.r_[False, np.diff(pair[order]) == 0]
        step = np.where(answer, 0, np.where(back, 1 - m.back, 1))[order]
        along = np.cumsum(step)
        first = np.flatnonzero(~same)
        nth[order] = along - np.repeat((along - step)[first], np.diff(np.r_[first, n]))
        place = np.maximum(self.place[pair] + nth - 1, 0)
        np.maximum.at(self.place, pair, place + 1)
        length, psn = self.length[pair], self.psn[pair] + place & 0xFFFFFF
        opcode = np.where(place % length == 0, WRITE_FIRST, np.where(place % length == length - 1, WRITE_LAST, WRITE_MIDDLE))
        opcode[answer] = ACKNOWLEDGE
        extended = np.array(headers.EXTENDED_OCTETS)[opcode]
        size = headers.BTH_OCTETS + extended + np.where(answer, 0, MTU) + headers.ICRC_OCTETS
        src, dst = pair % m.hosts, (pair % m.hosts + 1 + pair // m.hosts) % m.hosts
        ends = np.where(answer, dst, src), np.where(answer, src, dst)
        wire = _ip(frames, rows, *ends, UDP, 8 + size, np.where((r.random(n) < m.marked) & ~answer, 3, 2))
        _put(frames, rows, 34, ">u2", 49_152 + pair % 16_384)
        _put(frames, rows, 36, ">u2", ROCE_PORT)
        _put(frames, rows, 38, ">u2", 8 + size)
        _put(frames, rows, 42, "u1", opcode)
        _put(frames, rows, 44, ">u2", 0xFFFF)
        _put(frames, rows, 46, ">u4", np.where(answer, 1 << 20, 0) + pair + 17)
        _put(frames, rows, 50, ">u4", psn)
        begins = opcode == WRITE_FIRST
        _put(frames, rows[begins], 66, ">u4", length[begins] * MTU)
        _put(frames, rows[answer], 54, "u1", np.where(r.random(int(answer.sum())) < 0.002, NEGATIVE, 0x1F))
        return wire

    def _tcp(self, frames: Octets, rows: NDArray[np.intp]) -> Ints:
        r, m, n = self.random, self.mix, len(rows)
        which = r.choice(r.integers(0, m.connections, m.active // 8), n)
        data = r.random(n) < 0.7
        order, nth = np.argsort(which, kind="stable"), np.zeros(n, np.int64)
        along = np.cumsum(data[order])
        first = np.flatnonzero(np.r_[True, np.diff(which[order]) != 0])
        nth[order] = along - np.repeat((along - data[order])[first], np.diff(np.r_[first, n]))
        sequence = self.sequence[which] + SEGMENT * (nth - data)
        np.maximum.at(self.sequence, which, sequence + SEGMENT * data)
        src, dst = which % m.hosts, (which + 7) % m.hosts
        wire = _ip(frames, rows, np.where(data, src, dst), np.where(data, dst, src), TCP, 20 + SEGMENT * data, np.zeros(n))
        ports = 40_000 + which, np.full(n, 29_500)
        _put(frames, rows, 34, ">u2", np.where(data, ports[0], ports[1]))
        _put(frames, rows, 36, ">u2", np.where(data, ports[1], ports[0]))
        _put(frames, rows, 38, ">u4", np.where(data, sequence & 0xFFFFFFFF, 1))
        _put(frames, rows, 42, ">u4", np.where(data, 1, sequence & 0xFFFFFFFF))
        _put(frames, rows, 46, "u1", 0x50)
        _put(frames, rows, 47, "u1", np.where(data & (nth % 40 == 0), ACK | PSH, ACK))
        return wire


def _ip(frames: Octets, rows: NDArray[np.intp], src: Ints, dst: Ints, protocol: int, size: Any, tos: Any) -> Ints:
    """Write Ethernet and IPv4 headers; return the length on the wire."""
    _put(frames, rows, 12, ">u2", headers.IPV4)
    _put(frames, rows, 14, "u1", 0x45)
    _put(frames, rows, 15, "u1", tos)
    _put(frames, rows, 16, ">u2", 20 + size)
    _put(frames, rows, 18, ">u2", np.arange(len(rows)) & 0xFFFF)
    _put(frames, rows, 20, ">u2", 0x4000)
    _put(frames, rows, 22, "u1", 64)
    _put(frames, rows, 23, "u1", protocol)
    _put(frames, rows, 26, ">u4", 0x0A000000 + src)
    _put(frames, rows, 30, ">u4", 0x0A000000 + dst)
    return np.asarray(34 + size, np.int64)


def _put(frames: Octets, rows: NDArray[np.intp], at: int, kind: str, values: Any) -> None:
    """Write a number at a position of each frame."""
    octets = np.broadcast_to(np.asarray(values), len(rows)).astype(kind)[:, None].view(np.uint8)
    frames[rows, at : at + octets.shape[1]] = octets
