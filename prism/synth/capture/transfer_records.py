"""Convert transfers to flow records: RDMA messages, TCP bursts, control messages, opening and closing connections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import ACK, COLUMNS, FIN, PSH, SYN, TCP, UDP, Flows, Transits
from prism.synth.scenario.cluster import Ints, Plant
from prism.synth.scenario.specification import Job
from prism.synth.training.fabric import SEGMENT, Batch, Floats
from prism.synth.training.job_run import Attempt

UNIT = 1 << 16  # octets that a host passes to its NIC at once
BIN = 50_000_000  # bin of transits, ns
KNOWN = {c.name for c in COLUMNS} | {"spine"}


@dataclass(frozen=True, eq=False)
class Rows:
    """Columns of records before they become Flows; times in ns since the simulation's start, `spine` −1 for none."""

    columns: dict[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.columns["start_ns"])


def attempt_records(done: Attempt) -> list[Rows]:
    """Make the records of one attempt."""
    if done.job.transport == "tcp":
        return [_bursts(done), control_records(done.job, done.messages), connections(done)]
    return rdma_records(done.job, done.sent, done.messages)


def rdma_records(job: Job, sent: Sequence[Batch], control: Sequence[Batch]) -> list[Rows]:
    """Make the records of some RDMA transfers of a job. Each message is one record, independent of earlier ones."""
    b, lane = merge_batches(sent)
    return [messages(b, lane, job, *split_messages(b, job.message_octets)), control_records(job, control)]


def merge_batches(batches: Sequence[Batch]) -> tuple[Batch, Ints]:
    """Merge batches to one; return it with the lane of each row."""
    if not batches:
        none, no = np.zeros(0, np.int64), np.zeros(0)
        return Batch(no, no, none, none, none, 0, none, none, np.zeros((0, 2)), none), none
    names = ("start", "end", "src", "dst", "octets", "retransmits", "spine", "queue", "turn")
    whole = {name: np.concatenate([getattr(b, name) for b in batches]) for name in names}
    lanes = np.repeat([b.lane for b in batches], [len(b.start) for b in batches])
    return Batch(lane=0, **whole), lanes


def split_messages(b: Batch, max_octets: int) -> tuple[Ints, Ints]:
    """Split transfers into messages of at most `max_octets`; return the transfer of each message, and its position in it."""
    count = np.maximum(-(-b.octets // max_octets), 1)
    row = np.repeat(np.arange(len(count)), count)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)


def queue_of(b: Batch, lane: Ints, job: Job, row: Ints, place: Ints) -> Ints:
    """Number the queue pair of each message, below 62 in its lane: channels in turn, their queue pairs in turn."""
    if job.queues == 1:
        return lane[row] * 64 + place % job.channels
    return lane[row] * 64 + (b.turn[row].astype(np.int64) + place) % (job.channels * job.queues)


def messages(b: Batch, lane: Ints, job: Job, row: Ints, place: Ints) -> Rows:
    """Make one record per RDMA message (`split_messages`), over the job's channels in turn."""
    most = job.message_octets
    count = np.maximum(-(-b.octets // most), 1)
    octets = np.minimum(most, b.octets[row] - place * most)
    per = (b.end - b.start)[row] / np.maximum(b.octets[row], 1)
    start = b.start[row] + place * most * per
    end = start + octets * per
    again = b.retransmits[row] * (place + 1) // count[row] - b.retransmits[row] * place // count[row]
    return Rows(
        {
            "start_ns": start,
            "end_ns": end,
            "src": b.src[row],
            "dst": b.dst[row],
            "protocol": np.full(len(row), UDP),
            "dst_port": np.full(len(row), 4791),
            "dst_qp": connection_number(b.dst[row], b.src[row], queue_of(b, lane, job, row, place)),
            "octets": octets,
            "packets": -(-octets // SEGMENT["rdma"]),
            "messages": np.ones(len(row), np.int64),
            "retransmits": again,
            "busy_ns": end - start,
            "spine": b.spine[row],
        }
    )


def _bursts(done: Attempt) -> Rows:
    """Merge close transfers of a connection to bursts, as `collectors.flows.bursts` does.

    A pause is longer than the time to send eight units; up to the time of two units counts as sending.
    """
    b, lane = merge_batches(done.sent)
    order = np.lexsort((b.start, b.dst, b.src, lane))
    start, end, octets = b.start[order], b.end[order], b.octets[order]
    key = np.stack([lane, b.src, b.dst])[:, order]
    unit = UNIT * (end - start) / np.maximum(octets, 1)
    pause = start[1:] - end[:-1]
    same = (key[:, 1:] == key[:, :-1]).all(axis=0)
    slower = np.maximum(unit[1:], unit[:-1])
    cut = np.r_[True, ~same | (pause > np.maximum(8 * slower, 1e5))]
    firsts = np.flatnonzero(cut)
    gap = np.where(cut, 0.0, np.r_[0.0, np.where(pause <= np.r_[2 * slower], np.maximum(pause, 0), 0.0)])

    def total(values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.add.reduceat(values, firsts) if len(firsts) else values)

    src, dst, lane = key[1][firsts], key[2][firsts], key[0][firsts]
    octets = total(octets)
    ports = ports_of(src, dst, lane)
    return Rows(
        {
            "start_ns": start[firsts],
            "end_ns": np.maximum.reduceat(end, firsts) if len(firsts) else end,
            "src": src,
            "dst": dst,
            "src_port": ports[0],
            "dst_port": ports[1],
            "protocol": np.full(len(firsts), TCP),
            "octets": octets,
            "packets": -(-octets // SEGMENT["tcp"]),
            "messages": np.zeros(len(firsts), np.int64),
            "retransmits": total(b.retransmits[order]),
            "tcp_flags": np.full(len(firsts), PSH | ACK),
            "busy_ns": total(end - b.start[order] + gap),
            "spine": b.spine[order][firsts],
        }
    )


def control_records(job: Job, control: Sequence[Batch]) -> Rows:
    """Make one record per control message."""
    b, lane = merge_batches(control)
    tcp = job.transport == "tcp"
    ports = ports_of(b.src, b.dst, lane)
    zero = np.zeros(len(b.src), np.int64)
    return Rows(
        {
            "start_ns": b.start,
            "end_ns": b.end,
            "src": b.src,
            "dst": b.dst,
            "src_port": ports[0] if tcp else zero,
            "dst_port": ports[1] if tcp else zero + 4791,
            "protocol": zero + (TCP if tcp else UDP),
            "dst_qp": zero if tcp else connection_number(b.dst, b.src, lane * 64),
            "octets": b.octets,
            "packets": zero + 1,
            "messages": zero + 1,
            "tcp_flags": zero + (PSH | ACK if tcp else 0),
            "spine": b.spine,
        }
    )


def connections(done: Attempt) -> Rows:
    """Open every used connection at the start of the job, and close it when the first of its ends closes."""
    b, lane = merge_batches([*done.sent, *done.messages])
    used = np.unique(np.stack([lane, np.minimum(b.src, b.dst), np.maximum(b.src, b.dst)], axis=1), axis=0)
    lane, low, high = used.T if len(used) else np.zeros((3, 0), np.int64)
    closes = np.zeros(int(done.ranks.endpoint.max()) + 1)
    closes[done.ranks.endpoint] = done.closes
    early = np.where(closes[low] <= closes[high], low, high)
    late = np.where(early == low, high, low)
    opens = done.begin + 1e6 * np.arange(len(low)) / max(len(low), 1) * 100
    src = np.concatenate([high, low, early, late])
    dst = np.concatenate([low, high, late, early])
    when = np.concatenate([opens, opens + 3e4, closes[early], np.maximum(closes[late], closes[early] + 5e4)])
    flags = np.repeat([SYN, SYN | ACK, FIN | ACK, FIN | ACK], len(low))
    ports = ports_of(src, dst, np.tile(lane, 4))
    zero = np.zeros(len(src), np.int64)
    spine = np.full(len(src), -2)
    return Rows(
        {
            "start_ns": when, "end_ns": when, "src": src, "dst": dst, "src_port": ports[0], "dst_port": ports[1],
            "protocol": zero + TCP, "tcp_flags": flags, "spine": spine, "lane": np.tile(lane, 4),
        }
    )  # fmt: skip


def connection_number(a: Ints, b: Ints, lane: Ints) -> Ints:
    """Compute a constant number of a connection, below 2^24."""
    mixed = (a * 2654435761 + b * 40503 + lane * 2246822519 + 12345) & 0xFFFFFFFF
    return np.asarray((mixed ^ (mixed >> 13)) % ((1 << 24) - 100) + 64)


def ports_of(src: Ints, dst: Ints, lane: Ints) -> tuple[Ints, Ints]:
    """Compute the TCP ports of a pair's connection at source and destination."""
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    one, other = connection_number(low, high, lane) % 28000 + 32768, connection_number(high, low, lane + 1000) % 28000 + 32768
    return np.where(src == low, one, other), np.where(src == low, other, one)


def flows_of(parts: Sequence[Rows], plant: Plant, start_ns: int, ways: dict[tuple[str, ...], int] | None = None) -> Flows:
    """Convert records to Flows, by start, with exporters and paths. `ways`: known codes of paths, may grow."""
    names = sorted({name for part in parts for name in part.columns} & KNOWN)
    columns: dict[str, NDArray[Any]] = {}
    for name in names:
        own = [part.columns.get(name, np.zeros(len(part), np.int64)) for part in parts]
        columns[name] = np.concatenate(own)
    lanes = np.concatenate([part.columns.get("lane", np.zeros(len(part), np.int64)) for part in parts])
    spine, src, dst = columns.pop("spine").astype(np.int64), columns["src"], columns["dst"]
    if (spine == -2).any():
        spine = np.where(spine == -2, plant.spine(src, dst, lanes), spine)
    for name in ("start_ns", "end_ns"):
        columns[name] = np.rint(columns[name]).astype(np.int64) + start_ns
    many = len(plant.switches) + 1
    codes = (plant.leaf[src] * many + spine + 1) * many + plant.leaf[dst]
    kinds, place = np.unique(codes, return_inverse=True)
    known = {} if ways is None else ways
    paths = []
    for code in kinds.tolist():
        hops = code // many // many, code // many % many - 1, code % many
        path = tuple(dict.fromkeys(plant.switches[hop] for hop in hops if hop >= 0))
        paths.append(known.setdefault(path, len(known) + 1))
    columns["path"] = np.array(paths or [0])[place.ravel()]
    columns["exporter"] = plant.leaf[src]
    order = np.argsort(columns["start_ns"], kind="stable")
    return Flows.build(
        {name: array[order] for name, array in columns.items()},
        endpoints=plant.addresses,
        exporters=plant.switches,
        paths=((), *known),
    )


def transits_of(attempts: Sequence[Attempt], plant: Plant, start_ns: int) -> Transits:
    """Measure delays from leaf to spine and from spine to leaf, by time bin."""
    b, _ = merge_batches([x for done in attempts for x in (*done.sent, *done.messages)])
    over = b.spine >= 0
    parts = []
    for hop, ends in enumerate(((plant.leaf[b.src], b.spine), (b.spine, plant.leaf[b.dst]))):
        real = over & (ends[0] != ends[1])
        when = ((b.start + b.end)[real] / 2 // BIN).astype(np.int64)
        parts.append(
            np.stack([when, ends[0][real], ends[1][real], (b.queue[real, hop]).astype(np.int64), b.octets[real]], axis=1)
        )
    rows = np.concatenate(parts)
    keys, place = np.unique(rows[:, :3], axis=0, return_inverse=True)
    place = place.ravel()
    packets = np.bincount(place, weights=rows[:, 4] // SEGMENT["tcp"] + 1, minlength=len(keys))
    delay = np.bincount(place, weights=(rows[:, 4] // SEGMENT["tcp"] + 1) * rows[:, 3].astype(np.float64), minlength=len(keys))
    most: Floats = np.zeros(len(keys))
    np.maximum.at(most, place, rows[:, 3])
    return Transits(
        keys[:, 0] * BIN + start_ns,
        keys[:, 1].astype(np.int32),
        keys[:, 2].astype(np.int32),
        packets.astype(np.int64),
        (delay / np.maximum(packets, 1)).astype(np.int64),
        most.astype(np.int64),
        plant.switches,
        BIN,
    )
