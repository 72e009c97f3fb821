"""Aggregate metrics of a job from traffic alone, as XPUTimer and Flare derive them from hooks (arXiv 2502.05413).

*Lateness*: delay of a rank's first octets of a kind in a step after those of the first member of its group. *Void share*: share
of the time in which a rank waits (neither sends nor works). *Bus bandwidth*: NCCL's formula; octets sent per member over the
time in which the group transfers, which is algorithm bandwidth × 2(n−1)/n for a ring all-reduce and × (n−1)/n for
reduce-scatter and all-gather. *Work*: time of a stage's ranks between communication, per step and micro-batch.

Input: `JobDiagnosis` with its spans and phases. Wrong if step boundaries are wrong: micro-batches taken for steps halve all
values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism.metrics.ettr import step_ends
from prism.model import PHASES, JobDiagnosis

COLLECTIVES = ("dp", "tp", "ep", "cp")
WORK = ("compute", "forward", "backward", "optimizer")
MIN_STEPS = 3  # minimum number of steps
MIN_PAUSE_SHARE = 0.02  # of a step: a pause of this length separates two transfers of a group


@dataclass(frozen=True)
class Spread:
    """Median, 95th percentile, and relative standard error of the median, of `count` values."""

    median: float
    p95: float
    error: float
    count: int


@dataclass(frozen=True)
class Lateness:
    """First sends of one kind: their spread over ranks and steps, s, and the rank with the largest median."""

    kind: str
    seconds: Spread
    worst: str
    worst_s: float


@dataclass(frozen=True)
class Bandwidth:
    """Traffic of the groups of one kind and size: octets per member and step, and bus bandwidth, bit/s."""

    kind: str
    members: int
    groups: int
    octets: float
    bits_per_s: Spread


@dataclass(frozen=True)
class JobMetrics:
    """All metrics of one job; see the module. `volumes`: octets sent per rank and step by kind."""

    job: str
    layout: Mapping[str, int]
    ranks: int
    step_s: Spread
    volumes: Mapping[str, float]
    lateness: tuple[Lateness, ...]
    void: Spread
    bandwidth: tuple[Bandwidth, ...]
    work: Mapping[int, Spread]  # by stage, s per step
    micro_batches: int  # messages from one stage to the next per step; 0 without a visible pipeline
    transfers: Mapping[str, int]  # of a group per step, by kind
    activation_octets: float = 0.0  # of a message from stage to stage; 0 without a visible pipeline


def spread(values: NDArray[np.float64]) -> Spread:
    """Compute the spread of values; NaN without any. The error assumes independent values: 1.25 σ / √n, σ from the MAD."""
    if not len(values):
        return Spread(float("nan"), float("nan"), float("nan"), 0)
    middle = float(np.median(values))
    sigma = 1.4826 * float(np.median(np.abs(values - middle)))
    error = 1.2533 * sigma / np.sqrt(len(values)) / abs(middle) if middle else 0.0
    return Spread(middle, float(np.quantile(values, 0.95)), float(error), len(values))


def aggregate(job: JobDiagnosis, *, most_groups: int | None = None) -> JobMetrics | None:
    """Compute the metrics of one job; None with fewer than three steps.

    Of each kind, use the first `most_groups` groups only.
    """
    ends = step_ends(job)
    if len(ends) < MIN_STEPS + 1:
        return None
    layout = job.parallelism.layout
    found = _Spans(job, ends, most_groups)
    volumes = found.volumes()
    piped = [pair for pair in job.parallelism.pairs if pair.kind == "pp"]
    return JobMetrics(
        job.job.id,
        {kind: getattr(layout, kind) for kind in ("dp", "pp", "tp", "ep", "cp")},
        len(job.job.endpoints),
        spread(_undisturbed(np.diff(ends) / 1e9)),
        volumes,
        tuple(one for kind in COLLECTIVES if (one := found.lateness(kind)) is not None),
        _void(job),
        found.bandwidths(),
        _work(job),
        found.messages(piped[0].src, piped[0].dst) if piped else 0,
        found.transfers(),
        found.handed(piped[0].src, piped[0].dst) if piped else 0.0,
    )


def _undisturbed(durations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Drop durations that a pause, a hang or a restart prolonged: over twice the median."""
    return durations[durations < 2 * np.median(durations)]


class _Spans:
    """Spans of sent data, with the step of each."""

    def __init__(self, job: JobDiagnosis, ends: NDArray[np.int64], most_groups: int | None = None) -> None:
        spans = job.timeline.spans
        rows = np.flatnonzero((spans.octets > 0) & (spans.start_ns >= ends[0]) & (spans.start_ns < ends[-1]))
        rows = rows[np.argsort(spans.start_ns[rows], kind="stable")]
        self.job, self.ends, self.most_groups = job, ends, most_groups
        self.start, self.end = spans.start_ns[rows], spans.end_ns[rows]
        self.rank, self.peer, self.phase = spans.rank[rows], spans.peer[rows], spans.phase[rows]
        self.octets = spans.octets[rows]
        self.step = np.searchsorted(ends, self.start, side="right") - 1
        self.steps = len(ends) - 1
        self.code = {address: rank for rank, address in enumerate(job.job.endpoints)}
        self.period = float(np.median(np.diff(ends)))

    def volumes(self) -> dict[str, float]:
        """Compute octets sent per rank and step by kind: median over steps of the mean over ranks."""
        ranks = max(len(self.code), 1)
        out = {}
        for place in np.unique(self.phase).tolist():
            rows = self.phase == place
            per_step = np.bincount(self.step[rows], self.octets[rows], self.steps)
            out[PHASES[place]] = float(np.median(per_step)) / ranks
        return out

    def groups(self, kind: str) -> list[NDArray[np.intp]]:
        """List the members, as ranks, of the visible groups of one kind."""
        groups = [one for one in self.job.parallelism.groups if one.kind == kind and one.evidence == "traffic"]
        return [
            np.array([self.code[one] for one in own.members if one in self.code], np.intp) for own in groups[: self.most_groups]
        ]

    def of(self, kind: str, members: NDArray[np.intp]) -> NDArray[np.intp]:
        """Select the rows of one kind within a group."""
        inside = np.zeros(len(self.code), np.bool_)
        inside[members] = True
        return np.flatnonzero((self.phase == PHASES.index(kind)) & inside[self.rank] & inside[self.peer])

    def lateness(self, kind: str) -> Lateness | None:
        """Measure the delay of first sends after the first member of the group in the same step."""
        late = np.full((len(self.code), self.steps), np.nan)
        for members in self.groups(kind):
            rows = self.of(kind, members)
            first = np.full((len(self.code), self.steps), np.iinfo(np.int64).max, np.int64)
            np.minimum.at(first, (self.rank[rows], self.step[rows]), self.start[rows])
            own = first[members].astype(np.float64)
            own[own > 9e18] = np.nan
            if np.isnan(own).all():
                continue
            low = np.min(np.where(np.isnan(own), np.inf, own), axis=0)
            late[members] = np.where(np.isfinite(low), own - low, np.nan) / 1e9
        known = late[np.isfinite(late)]
        if not len(known):
            return None
        by_rank = np.array([np.median(row[np.isfinite(row)]) if np.isfinite(row).any() else -1.0 for row in late])
        worst = int(by_rank.argmax())
        return Lateness(kind, spread(known), self.job.job.endpoints[worst], float(by_rank[worst]))

    def bandwidths(self) -> tuple[Bandwidth, ...]:
        """Measure bus bandwidth by kind and size of group."""
        found: dict[tuple[str, int], list[tuple[NDArray[np.float64], float]]] = {}
        for kind in COLLECTIVES:
            for members in self.groups(kind):
                rows = self.of(kind, members)
                if len(rows):
                    busy = _busy(self.start[rows], self.end[rows], self.step[rows], self.steps)
                    moved = np.bincount(self.step[rows], self.octets[rows], self.steps) / max(
                        len(np.unique(self.rank[rows])), 1
                    )
                    fine = busy > 0
                    rate = moved[fine] * 8e9 / busy[fine]
                    found.setdefault((kind, len(members)), []).append((rate, float(np.median(moved))))
        return tuple(
            Bandwidth(
                kind, size, len(own), float(np.median([moved for _, moved in own])), spread(np.concatenate([r for r, _ in own]))
            )
            for (kind, size), own in sorted(found.items())
        )

    def messages(self, src: str, dst: str) -> int:
        """Count messages per step from one stage to the next; with one message per micro-batch, the micro-batches."""
        rows = (self.rank == self.code.get(src, -1)) & (self.peer == self.code.get(dst, -1))
        rows &= self.phase == PHASES.index("pp")
        counts = np.bincount(self.step[rows], minlength=self.steps)
        return int(np.median(counts)) if len(counts) else 0

    def handed(self, src: str, dst: str) -> float:
        """Compute the median octets of a message from one stage to the next."""
        rows = (self.rank == self.code.get(src, -1)) & (self.peer == self.code.get(dst, -1))
        rows &= self.phase == PHASES.index("pp")
        return float(np.median(self.octets[rows])) if rows.any() else 0.0

    def transfers(self) -> dict[str, int]:
        """Count the transfers of a group per step by kind, separated by pauses of `MIN_PAUSE_SHARE` of a step."""
        out = {}
        for kind in COLLECTIVES:
            groups = self.groups(kind)
            rows = self.of(kind, groups[0]) if groups else np.zeros(0, np.intp)
            if len(rows):
                quiet = self.start[rows][1:] - np.maximum.accumulate(self.end[rows])[:-1]
                out[kind] = round((1 + int((quiet > MIN_PAUSE_SHARE * self.period).sum())) / self.steps)
        return out


def _busy(start: NDArray[np.int64], end: NDArray[np.int64], step: NDArray[np.int64], steps: int) -> NDArray[np.float64]:
    """Measure in each step the time covered by spans (sorted by start), ns."""
    reach = np.maximum.accumulate(end)
    low = np.concatenate([start[:1], np.maximum(start[1:], reach[:-1])])
    return np.asarray(np.bincount(step, np.maximum(end - low, 0), steps), np.float64)


def _void(job: JobDiagnosis) -> Spread:
    """Measure the share of the time in which a rank waits; spread over ranks."""
    time = job.timeline.phases.by_rank(len(job.job.endpoints))
    whole = time.sum(axis=1)
    known = whole > 0
    return spread(time[known, PHASES.index("idle")] / whole[known])


def _work(job: JobDiagnosis) -> dict[int, Spread]:
    """Measure seconds of work per step of each stage; spread over its ranks and steps."""
    phases = job.timeline.phases
    ranks = len(job.job.endpoints)
    if not len(phases):
        return {}
    steps = int(phases.step.max()) + 1
    own = np.isin(phases.phase, [PHASES.index(name) for name in WORK])
    time = np.bincount(
        phases.rank[own].astype(np.int64) * steps + phases.step[own], (phases.end_ns - phases.start_ns)[own], ranks * steps
    ).reshape(ranks, steps)
    stage = np.array([job.parallelism.stages.get(address, 0) for address in job.job.endpoints])
    seen = np.bincount(phases.rank, minlength=ranks) > 0
    out = {}
    for place in np.unique(stage[seen]).tolist():
        rows = time[(stage == place) & seen][:, 1:]
        per_step = np.median(rows, axis=0)
        out[place] = spread(per_step[per_step > 0] / 1e9)
    return out
