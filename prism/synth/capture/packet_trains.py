"""Convert transfers to trains: runs of packets at a constant rate on a connection, with queueing delays.

A train is a message, a burst, a control message, acknowledgments, or one packet that opens or closes a connection. A table of
trains has a row per train; times are ns since the simulation's start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from collectors.columns.partial_records import Table, hash_columns, run_starts, running_max
from collectors.columns.record import ACK, PSH, TCP, UDP, Mask
from collectors.packets.headers import CNP
from prism.synth.capture.transfer_records import (
    Rows,
    connection_number,
    connections,
    control_records,
    merge_batches,
    messages,
    ports_of,
    queue_of,
    split_messages,
)
from prism.synth.scenario.cluster import Ints, Plant
from prism.synth.scenario.specification import Job
from prism.synth.training.fabric import SEGMENT, Batch
from prism.synth.training.job_run import Attempt

MARKED = 10_000.0  # ns in a queue above which switches mark packets (congestion experienced)
NOTICES = 50_000.0  # ns between congestion notifications of a connection (DCQCN: Zhu et al., SIGCOMM 2015, section 3)
IDLE_HOP = 1300.0  # ns in a switch without a queue
TCP_ACKS = 1 << 16  # octets per acknowledgment of a receiver with large-receive offload
COLUMNS: dict[str, type] = {
    "start": np.float64, "end": np.float64, "src": np.int32, "dst": np.int32, "src_port": np.int32, "dst_port": np.int32,
    "protocol": np.uint8, "dst_qp": np.int64, "octets": np.int64, "packets": np.int64, "again": np.int64, "flags": np.uint8,
    "link": np.uint64, "way": np.int8, "first": np.int16, "second": np.int16, "third": np.int16, "up": np.float32,
    "down": np.float32,
}  # fmt: skip


def departures(done: Attempt) -> list[Rows]:
    """Convert the transfers of one attempt to rows of `transfer_records`.

    Adds the queues on the path and the QP of the reverse path.
    """
    if done.job.transport == "rdma":
        return rdma_departures(done.job, done.sent, done.messages)
    b, lane = merge_batches(done.sent)
    return [_queued(_transfers(b, lane), b, np.arange(len(b.src)), lane), _said(done.job, done.messages), connections(done)]


def rdma_departures(job: Job, sent: Sequence[Batch], control: Sequence[Batch]) -> list[Rows]:
    """Convert some RDMA transfers of a job in the same way."""
    b, lane = merge_batches(sent)
    row, place = split_messages(b, job.message_octets)
    rows = _queued(messages(b, lane, job, row, place), b, row, lane)
    back = connection_number(b.src[row], b.dst[row], queue_of(b, lane, job, row, place))
    said, (t, spoke) = _said(job, control), merge_batches(control)
    beside = spoke * 64 + 63  # credits have their own QPs, so that they do not split messages
    ends = {"dst_qp": connection_number(t.dst, t.src, beside), "back_qp": connection_number(t.src, t.dst, beside)}
    return [Rows(rows.columns | {"back_qp": back}), Rows(said.columns | ends)]


def _said(job: Job, told: Sequence[Batch]) -> Rows:
    t, lane = merge_batches(told)
    return _queued(control_records(job, told), t, np.arange(len(t.src)), lane)


def _queued(rows: Rows, b: Batch, row: Ints, lane: Ints) -> Rows:
    return Rows(rows.columns | {"up": b.queue[row, 0], "down": b.queue[row, 1], "lane": lane[row]})


def _transfers(b: Batch, lane: Ints) -> Rows:
    """Make one row per TCP transfer."""
    src_port, dst_port = ports_of(b.src, b.dst, lane)
    full = np.full(len(b.src), PSH | ACK)
    return Rows(
        {
            "start_ns": b.start, "end_ns": b.end, "src": b.src, "dst": b.dst, "src_port": src_port, "dst_port": dst_port,
            "protocol": np.full(len(b.src), TCP), "octets": b.octets, "packets": -(-b.octets // SEGMENT["tcp"]),
            "retransmits": b.retransmits, "tcp_flags": full, "spine": b.spine,
        }
    )  # fmt: skip


def make_trains(parts: Sequence[Rows], plant: Plant) -> Table:
    """Convert all rows to trains with acknowledgments, by start. RDMA messages of one queue pair follow each other."""
    tables = [_train(part, plant) for part in parts if len(part)]
    if not tables:
        return {name: np.zeros(0, kind) for name, kind in COLUMNS.items()}
    t = _in_turn(concatenate(tables))
    t = concatenate([t, *_answers(t, plant)])
    return take_rows(t, np.argsort(t["start"], kind="stable"))


def _train(rows: Rows, plant: Plant) -> Table:
    c, n = rows.columns, len(rows)
    zero = np.zeros(n, np.int64)
    src, dst, lane = c["src"].astype(np.int64), c["dst"].astype(np.int64), c.get("lane", zero)
    udp = c["protocol"] == UDP
    low = src < dst
    here = np.where(udp, c.get("back_qp", zero), c.get("src_port", zero))
    there = np.where(udp, c.get("dst_qp", zero), c.get("dst_port", zero))
    ends = np.where(low, here, there), np.where(low, there, here)
    link = hash_columns(np.minimum(src, dst), np.maximum(src, dst), *ends, c["protocol"])
    spine = c["spine"].astype(np.int64)
    spine = np.where(spine == -2, plant.spine(src, dst, lane), spine)
    idle = np.full(n, IDLE_HOP)
    t: Table = {
        "start": c["start_ns"], "end": c["end_ns"], "src": src, "dst": dst, "dst_port": c["dst_port"],
        "src_port": np.where(udp, 49152 + (link % np.uint64(1 << 14)).astype(np.int64), c.get("src_port", zero)),
        "protocol": c["protocol"], "dst_qp": c.get("dst_qp", zero), "octets": c.get("octets", zero),
        "packets": np.maximum(c.get("packets", zero), 1), "again": c.get("retransmits", zero),
        "flags": np.where(udp, 0, c.get("tcp_flags", zero)), "link": link, "way": ~low, "up": c.get("up", idle),
        "down": c.get("down", idle), **_hops(plant, src, dst, spine),
    }  # fmt: skip
    t["again"] = np.minimum(t["again"], t["packets"])
    t["back_qp"] = c.get("back_qp", zero)
    return t


def _hops(plant: Plant, src: Ints, dst: Ints, spine: Ints) -> Table:
    """Return places in `plant.switches` of the switches on the path, in order, −1 after the last."""
    first, third = plant.leaf[src], plant.leaf[dst]
    second = np.where(spine == first, -1, spine)
    third = np.where((third == first) | (third == spine), -1, third)
    return {"first": first, "second": second, "third": third}


def _in_turn(t: Table) -> Table:
    """Serialise RDMA messages that overlap on a queue pair."""
    rows = np.flatnonzero(t["protocol"] == UDP)
    rows = rows[np.lexsort((t["end"][rows], t["start"][rows], t["way"][rows], t["link"][rows]))]
    if len(rows):
        starts = run_starts(t["link"][rows] * np.uint64(2) + t["way"][rows].astype(np.uint64))
        base = np.floor(t["start"][rows].min())
        until = np.floor(t["end"][rows] - base).astype(np.int64)
        before = running_max(until, starts, np.zeros(len(starts), np.int64)) + base
        t["start"][rows] = np.maximum(t["start"][rows], before)
        t["end"][rows] = np.maximum(t["start"][rows], t["end"][rows])
    return t


def _answers(t: Table, plant: Plant) -> tuple[Table, Table]:
    """Make acknowledgments, one per RDMA message and one per `TCP_ACKS` octets, a round trip after the data; and notifications.

    Notifications have CNP in the column of flags.
    """
    rows = np.flatnonzero(t["octets"] > 0)
    d = take_rows(t, rows)
    udp = d["protocol"] == UDP
    many = np.where(udp, 1, -(-d["octets"] // TCP_ACKS))
    behind = d["up"] + d["down"] + plant.cluster.latency_us * 1e3
    src, dst = d["dst"].astype(np.int64), d["src"].astype(np.int64)
    spine = np.where(d["second"] >= 0, plant.spine(src, dst, (d["link"] >> np.uint64(40)).astype(np.int64)), -1)
    idle, zero = np.full(len(rows), IDLE_HOP), np.zeros(len(rows), np.int64)
    told = d | {
        "start": np.where(udp, d["end"], d["start"] + (d["end"] - d["start"]) / many) + behind, "end": d["end"] + behind,
        "src": src, "dst": dst, "src_port": np.where(udp, d["src_port"], d["dst_port"]),
        "dst_port": np.where(udp, d["dst_port"], d["src_port"]), "dst_qp": d["back_qp"], "back_qp": d["dst_qp"],
        "octets": zero, "packets": many, "again": zero, "flags": np.where(udp, 0, ACK), "way": 1 - d["way"],
        "up": idle, "down": idle, **_hops(plant, src, dst, spine),
    }  # fmt: skip
    queued = np.flatnonzero(udp & marked_packets(d)[1])
    length = (d["end"] - d["start"])[queued] // NOTICES
    start = (d["start"] + behind)[queued]
    ours = {"start": start, "end": start + length * NOTICES, "packets": length + 1, "flags": np.full(len(queued), CNP)}
    return told, take_rows(told, queued) | ours


def marked_packets(t: Table) -> tuple[Mask, Mask]:
    """Find the packets that carry a congestion mark at their second, and at their third switch."""
    second = t["up"] > MARKED
    return second, second | (t["down"] > MARKED)


def concatenate(tables: Iterable[Table]) -> Table:
    """Concatenate tables, in the types of `COLUMNS`; columns: those of `COLUMNS` and `back_qp`."""
    tables = list(tables)
    kinds: dict[str, type] = COLUMNS | {name: np.int64 for name in ("back_qp",) if all(name in t for t in tables)}
    return {
        name: np.concatenate([np.asarray(t[name]).astype(kind, copy=False) for t in tables]) for name, kind in kinds.items()
    }


def take_rows(t: Table, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Table:
    """Select rows of a table."""
    return {name: column[rows] for name, column in t.items()}
