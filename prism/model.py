"""Result types of the analysis: jobs, groups, layouts, timelines, findings. Frozen dataclasses.

Endpoints are identified by address; arrays over ranks are in the order of `Job.endpoints`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.loops.detection.edge_tallies import tally

GroupKind = Literal["dp", "pp", "tp", "ep", "cp"]
PairKind = Literal["dp", "pp", "tp", "ep", "cp", "unknown"]
FindingKind = Literal[
    "slow_rank", "slow_link", "slow_switch", "slow_group", "slow_step", "stage_imbalance", "data_imbalance", "hang", "crash"
]
EventKind = Literal["start", "stop", "evaluation", "checkpoint", "restart"]
SubjectType = Literal["endpoint", "host", "link", "switch", "group", "job"]
Phase = Literal["compute", "pp", "dp", "tp", "ep", "cp", "unknown", "idle", "forward", "backward", "optimizer"]
PHASES: tuple[Phase, ...] = ("compute", "pp", "dp", "tp", "ep", "cp", "unknown", "idle", "forward", "backward", "optimizer")


class Severity(StrEnum):
    """Severity of a finding: `warning` and `critical` claim a cause; `info` is a symptom or an observation."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True)
class Job:
    """A set of endpoints that train together, in order of address, from `start_ns` to `end_ns` (ns since the epoch).

    `silent`: endpoints whose payload stays inside their host and is not visible. `name`: the operator's name of the job, empty
    if unknown. `hosts` is empty without a topology.
    """

    id: str
    endpoints: tuple[str, ...]
    hosts: tuple[str, ...]
    start_ns: int
    end_ns: int
    silent: tuple[str, ...] = ()
    name: str = ""

    @property
    def title(self) -> str:
        """Name with id for people, or the id alone."""
        return f"{self.name} ({self.id})" if self.name else self.id


@dataclass(frozen=True)
class Layout:
    """Sizes of the parallel dimensions. DP × PP × TP × CP is the number of ranks; EP divides DP × CP.

    Attributes
    ----------
    dp, pp, tp, ep, cp : int
        Data, pipeline, tensor, expert and context parallelism; 1 if there is none.
    confidence : float
        Probability from 0 to 1 that all sizes are right.
    """

    dp: int = 1
    pp: int = 1
    tp: int = 1
    ep: int = 1
    cp: int = 1
    confidence: float = 0.0


@dataclass(frozen=True)
class Alternative:
    """A layout that the traffic cannot exclude, with its own confidence, and `why`: the ambiguity."""

    layout: Layout
    why: str


@dataclass(frozen=True)
class Group:
    """Ranks that share one collective or pipeline. Inside a host it is not visible: its evidence is `placement`."""

    kind: GroupKind
    members: tuple[str, ...]
    evidence: Literal["traffic", "placement"]
    confidence: float


class Pair(NamedTuple):
    """Payload from one endpoint to another, and its purpose."""

    src: str
    dst: str
    kind: PairKind
    octets: int


@dataclass(frozen=True, eq=False)
class Stream:
    """Records of one group and kind, or of one direction of a pipeline's pair: traffic with one period."""

    kind: PairKind
    members: tuple[str, ...]
    rows: NDArray[np.intp]  # places in the analysed flows


@dataclass(frozen=True)
class Parallelism:
    """Parallelism of a job. `stages` maps an endpoint to its pipeline stage, 0 first."""

    layout: Layout
    groups: tuple[Group, ...]
    pairs: tuple[Pair, ...]
    stages: Mapping[str, int] = field(default_factory=dict)
    streams: tuple[Stream, ...] = ()
    alternatives: tuple[Alternative, ...] = ()  # at most three, most likely first
    lockstep: float = 0.0  # share of octets that moved in lockstep; low for unrelated traffic
    training: float = 1.0  # probability that the traffic trains a model

    @property
    def piped(self) -> bool:
        """Check whether hand-overs between stages are visible, not only inside hosts."""
        return self.layout.pp > 1 and any(stream.kind == "pp" for stream in self.streams)

    @cached_property
    def unseen(self) -> tuple[tuple[str, ...], ...]:
        """List the ranks that wait for each other inside hosts.

        They are tensor parallel by placement, or stages without visible hand-overs.
        """
        out = [group.members for group in self.groups if group.kind == "tp" and group.evidence == "placement"]
        seen = {frozenset((pair.src, pair.dst)) for pair in self.pairs if pair.kind == "pp"}
        for chain in (group.members for group in self.groups if group.kind == "pp"):
            begins = [0, *(i for i, pair in enumerate(pairwise(chain), 1) if frozenset(pair) in seen), len(chain)]
            out += [chain[low:high] for low, high in pairwise(begins) if high - low > 1]
        return tuple(out)


@dataclass(frozen=True)
class Event:
    """An event of a job that is no fault."""

    kind: EventKind
    start_ns: int
    end_ns: int


@dataclass(frozen=True, eq=False)
class Spans:
    """Visible activity of ranks, as rows of a timeline. Arrays of equal length; spans of one rank may overlap.

    `octets`: sent by the rank if positive, received if negative. Both ends of a record have a span. Empty if unknown.
    """

    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    rank: NDArray[np.int32]  # index into Job.endpoints
    phase: NDArray[np.int8]  # index into PHASES
    peer: NDArray[np.int32]  # index into Job.endpoints; -1 for none
    octets: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True, eq=False)
class Phases:
    """Phases of every rank over all its steps: intervals of a rank without overlap and without gaps.

    Arrays of equal length, in order of rank and time. `compute` is work of unknown kind; work during communication is not
    visible.
    """

    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    rank: NDArray[np.int32]  # index into Job.endpoints
    step: NDArray[np.int32]
    phase: NDArray[np.int8]  # index into PHASES

    def __len__(self) -> int:
        return len(self.start_ns)

    def by_rank(self, ranks: int) -> NDArray[np.float64]:
        """Sum the time of each rank in each phase, ns; float64[ranks, len(PHASES)]."""
        time = np.zeros((ranks, len(PHASES)))
        tally(self.rank, self.phase, self.end_ns - self.start_ns, time)
        return time


def shares(time: NDArray[np.float64]) -> dict[Phase, float]:
    """Compute the share 0 … 1 of each phase from times in the order of `PHASES`, without phases of length 0."""
    whole = float(time.sum())
    return {phase: part / whole for phase, part in zip(PHASES, time.tolist(), strict=True) if part > 0}


NO_PHASES = Phases(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int8)
)


@dataclass(frozen=True, eq=False)
class Timeline:
    """Timeline of all ranks. `steps[r]` is int64[n, 2]: start and end of each step of rank r, ns.

    `unseen`: time ranges without collection, ns. A step that overlaps one keeps its number, but its duration is unknown.
    `first`: number of the first stored step of the job (prism.tracking.step_numbers); `Phases.step` counts from it.
    """

    steps: tuple[NDArray[np.int64], ...]
    events: tuple[Event, ...]
    spans: Spans
    phases: Phases = NO_PHASES
    unseen: tuple[tuple[int, int], ...] = ()
    first: int = 0

    def partly_unseen(self, begin_ns: NDArray[np.int64], end_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Check which time ranges, ns, overlap a time without collection."""
        out = np.zeros(np.shape(begin_ns), np.bool_)
        for low, high in self.unseen:
            out |= (begin_ns < high) & (end_ns > low)
        return out

    def durations_ms(self) -> NDArray[np.float64]:
        """Compute the duration of every step, ms: median over ranks of the distance between consecutive step ends.

        Without ranks that have an unusual number of steps, and without incomplete steps. Empty with fewer than two steps.
        """
        counts = [len(s) for s in self.steps if len(s) > 1]
        if not counts:
            return np.zeros(0)
        most = max(set(counts), key=counts.count)
        ends = np.stack([s[:, 1] for s in self.steps if len(s) == most])
        if self.unseen:
            whole = ~self.partly_unseen(ends[:, :-1], ends[:, 1:]).any(axis=0)
            return np.asarray(np.median(np.diff(ends, axis=1)[:, whole], axis=0) / 1e6, dtype=np.float64)
        return np.asarray(np.median(np.diff(ends, axis=1), axis=0) / 1e6, dtype=np.float64)


@dataclass(frozen=True)
class Isolation:
    """Parts to isolate first: the fewest hosts (endpoints without a topology) that contain the culprit with `confidence` 0 … 1.

    `parts`: the switch, or both ends of the link, if that is the culprit. `alternatives`: all suspects, each with its
    probability given that a fault exists; most likely first.
    """

    hosts: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    confidence: float = 0.0
    alternatives: tuple[tuple[tuple[str, ...], float], ...] = ()


@dataclass(frozen=True)
class Finding:
    """A fault or an observation: subject, time, cost and evidence.

    Attributes
    ----------
    detector, kind, severity : str
        The part of the analysis that found it; the kind of fault; `warning` and `critical` claim a cause, `info` does not.
    job : str
        Id of the job.
    subject, ids : str, tuple of str
        The type of the culprit, and its names: addresses, hosts, switches, the two ends of a link, or the job.
    start_ns, end_ns : int
        Begin and end of the fault, ns since the epoch.
    slowdown, score : float
        Observed step time divided by the step time without the culprit; deviation from usual in robust sigmas.
    message : str
        What was measured, in words.
    evidence : dict
        Numbers behind the message.
    confidence, lost_gpu_s : float
        Share of such claims that should be right, 0 to 1; cost for all GPUs of the job so far, s.
    isolate : Isolation
        The hosts or parts to take out first.
    """

    detector: str
    kind: FindingKind
    job: str
    severity: Severity
    subject: SubjectType
    ids: tuple[str, ...]
    start_ns: int
    end_ns: int
    slowdown: float
    score: float
    message: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    confidence: float = 0.0
    lost_gpu_s: float = 0.0
    isolate: Isolation = Isolation()


@dataclass(frozen=True)
class Source:
    """The input: files, number of packets and flow records, first and last time (ns since the epoch).

    `skipped` counts packets or rows that were left out, by reason. `warnings` has damage and repairs, one line each.
    """

    files: tuple[str, ...]
    packets: int
    flows: int
    skipped: Mapping[str, int]
    start_ns: int
    end_ns: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class JobDiagnosis:
    """One job with all inferred properties.

    Attributes
    ----------
    job : Job
        Endpoints, hosts, time.
    parallelism : Parallelism
        Layout, alternatives, groups, traffic by pair.
    timeline : Timeline
        Steps, phases and events.
    """

    job: Job
    parallelism: Parallelism
    timeline: Timeline


@dataclass(frozen=True)
class Diagnosis:
    """Result of the analysis of a window of flows. `unexplained`: unknown traffic, in sentences."""

    source: Source
    jobs: tuple[JobDiagnosis, ...]
    findings: tuple[Finding, ...]
    unexplained: tuple[str, ...] = ()
