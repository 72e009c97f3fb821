"""Score a report against the recorded truth of a capture: found, missed and invented faults.

`compare` counts; counts of several captures add up, so the figures of a sum are pooled figures. A report is what `prism replay
--json` writes, a truth is a capture's truth.json: hosts, jobs (ranks, groups, layout, steps) and faults.

Definitions
    job right       its set of endpoints is reported exactly; extra: a reported set that is no true job
    layout right    dp, pp, tp, ep, and cp where the truth names it, all as they are
    in the set      the layout or one of the first three alternatives is right: an honest "either A or B"
    sure            a layout of confidence 0.9 or more
    product wrong   a reported job of which dp × pp × tp × cp is not the number of its endpoints; ep divides the
                    data-parallel ranks (Megatron) or multiplies them
    group right     kind and set of members; groups of one member do not count
    step right      its end is matched by a reported end within a quarter of the job's median step
    step error      |reported - true| / true distance of consecutive step ends; 1 where either end is unmatched
    fault found     a warning or worse names the culprit and nobody else, and half of its time lies in the fault's, which is
                    taken one step longer at its begin and two at its end
    finding right   it finds a fault so
    replay close    the slow steps of a claim, replayed without new delays, take as long as usual ones, to 2 %
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any, NamedTuple

Json = Mapping[str, Any]
DIMENSIONS = ("dp", "pp", "tp", "ep", "cp")
SURE = 0.9
CLOSE = 0.02  # share of a usual step
RIGHT_KINDS = {
    "compute_slow": {"slow_rank"},
    "nic_throttle": {"slow_link", "slow_group"},
    "nic_loss": {"slow_link"},
    "uplink_throttle": {"slow_switch", "slow_link"},
    "crash": {"crash", "job_stopped"},
}
# causes without a culprit: the subject is the job, or the ranks of the heavy stage
IMBALANCES = ("stage_imbalance", "data_imbalance")


@dataclass(frozen=True)
class Counts:
    """Counts of right answers; adds up over captures. Lists are pooled, not averaged."""

    jobs: int = 0
    jobs_right: int = 0
    jobs_extra: int = 0
    rand_indices: tuple[float, ...] = ()
    layouts_right: int = 0
    layouts_in_set: int = 0
    layouts_sure: int = 0
    layouts_sure_right: int = 0
    layout_product_wrong: int = 0
    groups: int = 0
    groups_claimed: int = 0
    groups_right: int = 0
    pairs_claimed: int = 0
    pairs_right: int = 0
    steps: int = 0
    steps_found: int = 0
    steps_claimed: int = 0
    steps_right: int = 0
    step_errors: tuple[float, ...] = ()
    faults: int = 0
    faults_found: int = 0
    faults_kind_right: int = 0
    onsets: tuple[float, ...] = ()
    findings: int = 0
    findings_right: int = 0
    healthy_findings: int = 0
    replays: int = 0
    replays_close: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def figures(self) -> dict[str, float | None]:
        """Return the figures by name; None for an undefined one."""
        errors = sorted(self.step_errors)
        return {
            "jobs_exact": _ratio(self.jobs_right, self.jobs),
            "jobs_extra": self.jobs_extra,
            "jobs_f1": _ratio(2 * self.jobs_right, self.jobs + self.jobs_right + self.jobs_extra),
            "jobs_ari": statistics.fmean(self.rand_indices) if self.rand_indices else None,
            "layout_exact": _ratio(self.layouts_right, self.jobs),
            "layout_set": _ratio(self.layouts_in_set, self.jobs),
            "layouts_sure": self.layouts_sure,
            "layouts_sure_right": self.layouts_sure_right,
            "layout_product_wrong": self.layout_product_wrong,
            "groups_f1": _ratio(2 * self.groups_right, self.groups + self.groups_claimed),
            "pairs_precision": _ratio(self.pairs_right, self.pairs_claimed),
            "steps_recall": _ratio(self.steps_found, self.steps),
            "steps_precision": _ratio(self.steps_right, self.steps_claimed),
            "step_error_median": statistics.median(errors) if errors else None,
            "step_error_mean": statistics.fmean(errors) if errors else None,
            "step_error_p95": errors[int(0.95 * (len(errors) - 1))] if errors else None,
            "faults": self.faults,
            "faults_found": self.faults_found,
            "faults_recall": _ratio(self.faults_found, self.faults),
            "faults_kind": _ratio(self.faults_kind_right, self.faults_found),
            "onset_steps": statistics.median(self.onsets) if self.onsets else None,
            "findings": self.findings,
            "findings_right": self.findings_right,
            "findings_precision": _ratio(self.findings_right, self.findings),
            "findings_per_fault": _ratio(self.findings_right, self.faults_found),
            "healthy_findings": self.healthy_findings,
            "replays_close": _ratio(self.replays_close, self.replays),
        }


class TrueJob(NamedTuple):
    """A true job: groups of more than one member, step starts and ends by endpoint."""

    endpoints: frozenset[str]
    layout: Json
    groups: frozenset[tuple[str, frozenset[str]]]
    steps: Mapping[str, Sequence[tuple[int, int]]]


def compare(report: Json, truth: Json) -> Counts:
    """Score one report against the truth of its capture."""
    jobs = [_true_job(job) for job in truth["jobs"].values()]
    return sum((_compare_job(job, report["jobs"]) for job in jobs), _compare_sets(jobs, report, truth)) + _compare_findings(
        jobs, report, truth
    )


def loud(report: Json) -> list[Json]:
    """List the findings that claim a fault."""
    return [f for f in report["findings"] if f["severity"] in ("warning", "critical")]


def true_findings(report: Json, truth: Json) -> Iterator[tuple[Json, list[Json]]]:
    """Yield each fault of known time, with the claims that found it."""
    period = _period([_true_job(job) for job in truth["jobs"].values()])
    for fault in truth["faults"]:
        if "start_ns" in fault:
            lo, hi = fault["start_ns"] - period, fault["end_ns"] + 2 * period
            yield fault, [f for f in loud(report) if names_culprit(f, fault, truth) and _half_within(f, lo, hi)]


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _true_job(job: Json) -> TrueJob:
    address = {rank["rank"]: rank["ip"] for rank in job["ranks"]}
    groups = {
        ("dp" if kind == "edp" else kind, frozenset(address[r] for r in members))
        for kind, lists in job["groups"].items()
        for members in lists
        if len(members) > 1
    }
    if not groups and job["mode"] == "fsdp":
        groups = {("dp", frozenset(address.values()))}
    steps = {address[int(r)]: [(a, b) for _, a, b in rows] for r, rows in job.get("steps_wire", job["steps"]).items()}
    return TrueJob(frozenset(address.values()), job["layout"], frozenset(groups), steps)


def period_of(truth: Json) -> float:
    """Return the median true step, ns."""
    return _period([_true_job(job) for job in truth["jobs"].values()])


def _period(jobs: Iterable[TrueJob]) -> float:
    durations = [end - begin for job in jobs for steps in job.steps.values() for begin, end in steps]
    return statistics.median(durations) if durations else 0


def _compare_sets(jobs: Sequence[TrueJob], report: Json, truth: Json) -> Counts:
    true_sets, claimed = [job.endpoints for job in jobs], [frozenset(job["endpoints"]) for job in report["jobs"]]
    everyone = {host["ip"] for host in truth["hosts"].values()}.union(*claimed)
    labels = [(_first_set(e, true_sets), _first_set(e, claimed)) for e in sorted(everyone)]
    return Counts(
        jobs=len(jobs),
        jobs_right=sum(s in claimed for s in true_sets),
        jobs_extra=sum(s not in true_sets for s in claimed),
        rand_indices=(_adjusted_rand(labels),),
        layout_product_wrong=sum(not _is_whole(job) for job in report["jobs"]),
    )


def _is_whole(job: Json) -> bool:
    """Check whether the product of a reported layout's dimensions is the number of the job's endpoints."""
    layout = job["parallelism"]
    ranks = math.prod(layout.get(kind, 1) for kind in ("dp", "pp", "tp", "cp"))
    return len(job["endpoints"]) in (ranks, ranks * layout.get("ep", 1))


def _first_set(endpoint: str, sets: Sequence[frozenset[str]]) -> int | str:
    """Return the index of the first set that contains an endpoint; else the endpoint itself, as its own cluster."""
    return next((i for i, s in enumerate(sets) if endpoint in s), endpoint)


def _adjusted_rand(labels: Sequence[tuple[Hashable, Hashable]]) -> float:
    """Compute Hubert & Arabie's adjusted Rand index (1985) of two labelings, given as pairs of labels."""

    def pairs(counted: Iterable[Hashable]) -> int:
        return sum(n * (n - 1) // 2 for n in Counter(counted).values())

    both, left, right = pairs(labels), pairs(a for a, _ in labels), pairs(b for _, b in labels)
    whole = len(labels) * (len(labels) - 1) // 2
    expected = left * right / whole if whole else 0
    most = (left + right) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def _compare_job(job: TrueJob, reported: Sequence[Json]) -> Counts:
    got = _pick(job, reported)
    if got is None:
        return Counts(groups=len(job.groups)) + _compare_steps(job, {})
    claimed = {(g["kind"], frozenset(g["members"])) for g in got["groups"] if len(g["members"]) > 1}
    together = {(kind, frozenset(two)) for kind, members in job.groups for two in combinations(members, 2)}
    labelled = [
        (pair["kind"], frozenset((pair["src"], pair["dst"])))
        for pair in got.get("pairs", ())
        if pair["kind"] in DIMENSIONS and pair["src"] in job.endpoints and pair["dst"] in job.endpoints
    ]
    return (
        _compare_layout(job, got)
        + Counts(
            groups=len(job.groups),
            groups_claimed=len(claimed),
            groups_right=len(claimed & job.groups),
            pairs_claimed=len(labelled),
            pairs_right=sum(pair in together for pair in labelled),
        )
        + _compare_steps(job, {rank["endpoint"]: [end for _, end in sorted(rank["steps"])] for rank in got.get("ranks", ())})
    )


def _compare_layout(job: TrueJob, got: Json) -> Counts:
    def fits(layout: Json) -> bool:
        return all(layout.get(kind, 1) == size for kind, size in job.layout.items())

    right, sure = fits(got["parallelism"]), got.get("confidence", 0) >= SURE
    return Counts(
        layouts_right=right,
        layouts_in_set=right or any(map(fits, got.get("alternatives", ())[:3])),
        layouts_sure=sure,
        layouts_sure_right=sure and right,
    )


def _pick(job: TrueJob, reported: Sequence[Json]) -> Json | None:
    """Choose the reported job nearest to a true one: by the Jaccard index of the endpoints, then by common time."""
    times = [t for steps in job.steps.values() for step in steps for t in step]
    lo, hi = (min(times), max(times)) if times else (0, 0)

    def nearness(got: Json) -> tuple[float, int]:
        endpoints = frozenset(got["endpoints"])
        common = min(hi, got.get("end_ns", hi)) - max(lo, got.get("start_ns", lo))
        return len(endpoints & job.endpoints) / len(endpoints | job.endpoints), max(0, common)

    best = max(reported, key=nearness, default=None)
    return best if best is not None and nearness(best)[0] > 0 else None


def _compare_steps(job: TrueJob, reported: Mapping[str, Sequence[int]]) -> Counts:
    """Score the steps of a job's ranks; `reported` has step ends by endpoint.

    Ranks with fewer than three true steps are skipped.
    """
    total = Counts()
    for endpoint, steps in job.steps.items():
        if len(steps) >= 3:
            period = statistics.median(end - begin for begin, end in steps)
            total += _compare_ends([end for _, end in steps], reported.get(endpoint, []), period)
    return total


def _compare_ends(true: Sequence[int], got: Sequence[int], period: float) -> Counts:
    matched = _match(true, got, period / 4)
    found = sum(m is not None for m in matched)
    errors = []
    for here, there, a, b in zip(matched, matched[1:], true, true[1:], strict=False):
        errors.append(1.0 if here is None or there is None else abs((there - here) - (b - a)) / (b - a))
    claimed = sum(true[0] - period <= end <= true[-1] + period for end in got)
    return Counts(steps=len(true), steps_found=found, steps_claimed=claimed, steps_right=found, step_errors=tuple(errors))


def _match(true: Sequence[int], got: Sequence[int], tolerance: float) -> list[int | None]:
    """Match each true end with the nearest reported end, each used once, in order; None beyond the tolerance."""
    used: set[int] = set()
    matched: list[int | None] = []
    for end in true:
        after = bisect_left(got, end)
        near = [i for i in (after - 1, after) if 0 <= i < len(got) and i not in used]
        best = min(near, key=lambda i: abs(got[i] - end), default=None)
        if best is None or abs(got[best] - end) > tolerance:
            matched.append(None)
        else:
            used.add(best)
            matched.append(got[best])
    return matched


def _compare_findings(jobs: Sequence[TrueJob], report: Json, truth: Json) -> Counts:
    claims = loud(report)
    errors = [error for f in claims if (error := f.get("evidence", {}).get("counterfactual_error")) is not None]
    total = Counts(findings=len(claims), replays=len(errors), replays_close=sum(error <= CLOSE for error in errors))
    period, right, faults = _period(jobs), set(), 0
    for fault, findings in true_findings(report, truth):
        faults += 1
        right |= {id(f) for f in findings}
        if findings:
            best = max(findings, key=lambda f: f["score"])
            onset = abs(best["start_ns"] - fault["start_ns"]) / period
            total += Counts(faults_found=1, faults_kind_right=_right_kind(best, fault), onsets=(onset,))
    return total + Counts(faults=faults, findings_right=len(right), healthy_findings=0 if faults else len(claims))


def names_culprit(finding: Json, fault: Json, truth: Json) -> bool:
    """Check whether a finding names the culprit and nobody innocent; a link may name its innocent other end too."""
    ids, is_link = set(finding["subject"]["ids"]), finding["subject"]["type"] == "link"
    ranks = [rank for rank in truth["jobs"][fault["job"]]["ranks"] if rank["rank"] in fault.get("ranks", ())]
    guilty = {rank["ip"] for rank in ranks} | {f"server{rank['server']}" for rank in ranks}
    if fault["kind"] in IMBALANCES:
        return finding["kind"] == fault["kind"] and (finding["subject"]["type"] == "job" or not ranks or ids <= guilty)
    if "switch" in fault:
        return ids == {fault["switch"]} or (is_link and len(ids) == 2 and fault["switch"] in ids)
    return bool(ids) and (ids <= guilty or (is_link and len(ids) == 2 and bool(ids & guilty)))


def _half_within(finding: Json, lo: float, hi: float) -> bool:
    start: int = finding["start_ns"]
    end: int = max(finding["end_ns"], start + 1)
    return min(end, hi) - max(start, lo) >= (end - start) / 2


def _right_kind(finding: Json, fault: Json) -> bool:
    kind: str = finding["kind"]
    right = RIGHT_KINDS.get(fault["kind"], {fault["kind"]})
    return kind in right and (kind != "slow_group" or len(fault.get("ranks", ())) > 1)
