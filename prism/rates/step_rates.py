"""Compare one step of the culprit with the same step of a healthy peer: transfers, times and speeds.

The step is the one of the finding with the most typical duration (nearest to the median). The culprit is the endpoint that
sends most slowly over the blamed part; one behind a blamed link or switch, if any sends over it. The peer is an endpoint that
does not use that part, of the same pipeline stage if possible, with the most similar octets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.model import PHASES, Finding, JobDiagnosis
from prism.rates.culprit_rates import culprit_of, moving
from prism.rates.rate_series import Floats
from prism.topology import Topology
from prism.views.board_views import NOWHERE, Json, finite, ns
from prism.views.step_sums import sums

MOST = 400  # largest transfers of an endpoint that are drawn
ALIKE = 4.0  # ratio of octets of culprit and peer above which they are different kinds of rank


class Step(NamedTuple):
    """A step of the job: number, begin and end, ns."""

    number: int
    start_ns: int
    end_ns: int


def step_of(job: JobDiagnosis, finding: Finding) -> Step | None:
    """Return the step of a finding whose duration is nearest to the median; None if no complete step was observed."""
    known = sums(job)
    inside = (known.end_ns > finding.start_ns) & (known.start_ns < max(finding.end_ns, finding.start_ns + 1))
    rows = np.flatnonzero(inside & np.isfinite(known.duration_ms))
    if not len(rows):
        return None
    own = known.duration_ms[rows]
    row = int(rows[np.argmin(np.abs(own - np.median(own)))])
    return Step(job.timeline.first + row, int(known.start_ns[row]), int(known.end_ns[row]))


def one_step(flows: Flows, job: JobDiagnosis, finding: Finding, step: Step, topology: Topology | None) -> Json | None:
    """Compute both endpoints' lanes in the step; None if no record shows the blamed part. `flows`: records of the step."""
    by, names = culprit_of(finding, topology)
    suspect = moving(flows, by, names, topology)
    sent = np.bincount(flows.src, weights=flows.octets.astype(np.float64), minlength=len(flows.endpoints)).astype(np.float64)
    uses_blamed = np.unique(flows.src[suspect])
    if not len(uses_blamed):
        return None
    behind = [code for code in uses_blamed if topology and topology.leaf(flows.endpoints[code]) in finding.ids]
    speed = {int(code): _speed(flows, suspect & (flows.src == code)) for code in behind or uses_blamed}
    culprit = min(speed, key=lambda code: (speed[code], code))
    others = _peers(flows, job, sent, culprit, uses_blamed)
    lanes = [_lane(flows, job, step, culprit, suspect, topology)]
    if others is not None:
        lanes.append(_lane(flows, job, step, others, suspect & False, topology))
    return {
        "step": step.number,
        "start_ns": ns(step.start_ns),
        "duration_ms": finite((step.end_ns - step.start_ns) / 1e6),
        "phases": list(PHASES),
        "lanes": lanes,
    }


def _speed(flows: Flows, rows: NDArray[np.bool_]) -> float:
    """Speed of records, Gbit/s: median weighted by octets; infinite without records of some duration."""
    own = np.flatnonzero(rows & (flows.end_ns > flows.start_ns))
    if not len(own):
        return float("inf")
    weight = flows.octets[own].astype(np.float64)
    rate = weight * 8 / (flows.end_ns - flows.start_ns)[own]
    order = np.argsort(rate)
    total = np.cumsum(weight[order])
    return float(rate[order][np.searchsorted(total, total[-1] / 2)]) if total[-1] else float("inf")


def _peers(flows: Flows, found: JobDiagnosis, sent: Floats, culprit: int, uses_blamed: NDArray[np.int32]) -> int | None:
    """Return the code of the healthy peer of an endpoint; None if the job has no other."""
    stages = found.parallelism.stages
    members = set(found.job.endpoints)
    known = [code for code, name in enumerate(flows.endpoints) if name in members and sent[code] > 0]
    blamed = set(uses_blamed.tolist())
    free = [code for code in known if code not in blamed] or [code for code in known if code != culprit]
    own = stages.get(flows.endpoints[culprit])
    alike = [code for code in free if stages.get(flows.endpoints[code]) == own]
    some = [code for code in alike if abs(np.log(sent[code] / max(sent[culprit], 1))) < np.log(ALIKE)] or alike or free
    return min(some, key=lambda code: (abs(np.log(sent[code] / max(sent[culprit], 1))), code), default=None)


def _lane(
    flows: Flows, found: JobDiagnosis, step: Step, code: int, suspect: NDArray[np.bool_], topology: Topology | None
) -> Json:
    endpoint = flows.endpoints[code]
    place = (topology.endpoints.get(endpoint) if topology else None) or NOWHERE
    rank = found.job.endpoints.index(endpoint)
    rows = np.flatnonzero((flows.src == code) & (flows.end_ns > step.start_ns) & (flows.start_ns < step.end_ns))
    shown = rows[np.argsort(-flows.octets[rows], kind="stable")[:MOST]]
    shown = shown[np.argsort(flows.start_ns[shown], kind="stable")]
    used = np.zeros(len(flows), np.bool_)
    used[rows] = True
    used &= suspect if suspect[rows].any() else True
    return {
        "endpoint": endpoint,
        "host": place.host,
        "rank": rank,
        "stage": found.parallelism.stages.get(endpoint),
        "octets": int(flows.octets[rows].sum()),
        "sending_ms": finite(_union(flows.start_ns[rows], flows.end_ns[rows]) / 1e6),
        "gbit_s": finite(_speed(flows, used)),
        "phases": _phases(found, rank, step),
        "transfers": [
            {
                "start_ms": finite((int(flows.start_ns[row]) - step.start_ns) / 1e6),
                "end_ms": finite((int(flows.end_ns[row]) - step.start_ns) / 1e6),
                "to": flows.endpoints[flows.dst[row]],
                "octets": int(flows.octets[row]),
                "gbit_s": _rate(flows, row),
                "suspect": bool(suspect[row]),
            }
            for row in shown.tolist()
        ],
    }


def _rate(flows: Flows, row: int) -> float | None:
    length = int(flows.end_ns[row] - flows.start_ns[row])
    return finite(int(flows.octets[row]) * 8 / length) if length > 0 else None


def _union(start: NDArray[np.int64], end: NDArray[np.int64]) -> int:
    """Duration of the union of some intervals, ns."""
    if not len(start):
        return 0
    order = np.argsort(start, kind="stable")
    begins, over = start[order], np.maximum.accumulate(end[order])
    gaps = np.maximum(begins[1:] - over[:-1], 0).sum()
    return int(over[-1] - begins[0] - gaps)


def _phases(found: JobDiagnosis, rank: int, step: Step) -> list[Json]:
    """Phases of a rank in the step, as [index into PHASES, from ms, to ms]."""
    worked = found.timeline.phases
    low, high = np.searchsorted(worked.rank, [rank, rank + 1]).tolist()
    own = np.arange(low, high)
    own = own[(worked.end_ns[own] > step.start_ns) & (worked.start_ns[own] < step.end_ns)]
    return [
        {
            "phase": int(worked.phase[row]),
            "start_ms": finite((max(int(worked.start_ns[row]), step.start_ns) - step.start_ns) / 1e6),
            "end_ms": finite((min(int(worked.end_ns[row]), step.end_ns) - step.start_ns) / 1e6),
        }
        for row in own.tolist()
    ]
