"""Read NCCL Inspector's JSON: performance of each collective as measured by NCCL.

Format: NVIDIA/nccl, ext-profiler/inspector/README.md, version v4.0: objects with `header`, `metadata` and `coll_perf`, one
after another, on one line or several.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

MIN_PEERS = 4  # minimum number of ranks for a comparison between them
SIGMAS = 6.0
MIN_SLOWDOWN = 0.1  # minimum relative loss of bandwidth of a slow rank


class Collective(NamedTuple):
    """One collective of one rank: communicator, number, octets, seconds, bus bandwidth in bit/s."""

    communicator: str
    rank: int
    ranks: int
    host: str
    kind: str
    number: int
    octets: int
    seconds: float
    bus_bits_per_s: float


@dataclass(frozen=True)
class Measured:
    """Bus bandwidth of one kind and size, as measured by NCCL; `slow`: ranks below their peers, with their share."""

    communicator: str
    kind: str
    ranks: int
    octets: int
    count: int
    bus_bits_per_s: float
    seconds: float
    slow: tuple[tuple[int, str, float], ...]


def parse(text: str) -> Iterator[Collective]:
    """Parse the collectives in a text; after an unreadable object, continue at the next line that starts one."""
    decoder, at = json.JSONDecoder(), text.find("{")
    while 0 <= at < len(text):
        try:
            document, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("\n{", at)
            at = at + 1 if at >= 0 else -1
            continue
        if (own := _collective(document)) is not None:
            yield own
        at = text.find("{", at)


def _collective(document: Any) -> Collective | None:
    try:
        header, perf, meta = document["header"], document["coll_perf"], document.get("metadata", {})
        own = Collective(
            str(header["id"])[:40],
            int(header["rank"]),
            int(header["n_ranks"]),
            str(meta.get("hostname", ""))[:255],
            str(perf["coll"])[:40],
            int(perf["coll_sn"]),
            int(perf["coll_msg_size_bytes"]),
            float(perf["coll_exec_time_us"]) / 1e6,
            float(perf["coll_busbw_gbs"]) * 8e9,
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None
    return own if 0 <= own.rank < own.ranks and own.octets >= 0 and own.seconds > 0 else None


def summarise(collectives: Sequence[Collective]) -> tuple[Measured, ...]:
    """Summarise collectives by communicator, kind and size, most octets first."""
    rows: dict[tuple[str, str, int, int], list[Collective]] = defaultdict(list)
    for one in collectives:
        rows[one.communicator, one.kind, one.ranks, one.octets].append(one)
    out = []
    for (communicator, kind, ranks, octets), own in rows.items():
        rates = np.array([one.bus_bits_per_s for one in own])
        seconds = float(np.median([one.seconds for one in own]))
        out.append(Measured(communicator, kind, ranks, octets, len(own), float(np.median(rates)), seconds, _slow(own)))
    return tuple(sorted(out, key=lambda one: (-one.octets * one.count, one.communicator, one.kind)))


def _slow(own: Sequence[Collective]) -> tuple[tuple[int, str, float], ...]:
    """List ranks with less bandwidth than their peers.

    A rank that enters late is *faster*, because the others waited for it.
    """
    by_rank: dict[int, list[float]] = defaultdict(list)
    hosts = {one.rank: one.host for one in own}
    for one in own:
        by_rank[one.rank].append(one.bus_bits_per_s)
    if len(by_rank) < MIN_PEERS:
        return ()
    medians = {rank: float(np.median(values)) for rank, values in by_rank.items()}
    middle = float(np.median(list(medians.values())))
    spread = max(1.4826 * float(np.median([abs(one - middle) for one in medians.values()])), MIN_SLOWDOWN / SIGMAS * middle)
    low = [(rank, hosts[rank], round(one / middle, 3)) for rank, one in medians.items() if middle - one > SIGMAS * spread]
    return tuple(sorted(low, key=lambda one: one[2]))
