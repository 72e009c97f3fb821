"""The four stages of LLMPrism (Jiang et al., arXiv 2505.00342, DSN 2025) as published, for comparison.

`python -m benchmarks.accuracy … --baseline` prints its figures beside Prism's.

The paper's thresholds are not public; those here are keyword arguments. Bayesian online change points are those of Adams &
MacKay (arXiv 0710.3742) on the logarithms of the gaps between a pair's flows.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from collectors.columns.record import Flows
from prism.model import (
    Diagnosis,
    Finding,
    FindingKind,
    Group,
    GroupKind,
    Job,
    JobDiagnosis,
    Layout,
    Pair,
    PairKind,
    Parallelism,
    Severity,
    Source,
    Spans,
    SubjectType,
    Timeline,
)
from prism.topology import Topology

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Key = tuple[int, int]


def change_points(series: Floats, *, hazard: float = 0.5, lengths: int = 64) -> Ints:
    """Find change points in float64[rows, n], as int64[k, 2] (row, place): places where the most likely run length drops.

    Student-t predictive of a Normal-Gamma prior with each row's own mean and variance; the `lengths` shortest runs are kept.
    NaN ends a row.
    """
    rows, n = series.shape
    mean0 = np.nanmean(series, axis=1, keepdims=True) if n else np.zeros((rows, 1))
    var0 = np.maximum(np.nanvar(series, axis=1, keepdims=True), 1e-6) if n else np.ones((rows, 1))
    count = np.arange(lengths, dtype=np.float64)[None, :]
    kappa, alpha = 1 + count, 1 + count / 2
    mean, beta = np.repeat(mean0, lengths, axis=1), np.repeat(var0, lengths, axis=1)
    chance = np.zeros((rows, lengths))
    chance[:, 0] = 1.0
    likeliest = np.zeros(rows, np.int64)
    found: list[Ints] = []
    for t in range(n):
        x = series[:, t : t + 1]
        alive = np.isfinite(x[:, 0])
        scale = beta * (kappa + 1) / (alpha * kappa)
        z = (np.where(alive[:, None], x, mean) - mean) ** 2 / (2 * alpha * scale)
        density = np.exp(gammaln(alpha + 0.5) - gammaln(alpha)) / np.sqrt(2 * np.pi * alpha * scale) * (1 + z) ** (-alpha - 0.5)
        weighted = chance * density
        grown = np.zeros_like(chance)
        grown[:, 1:] = weighted[:, :-1] * (1 - hazard)
        grown[:, -1] += weighted[:, -1] * (1 - hazard)
        grown[:, 0] = weighted.sum(axis=1) * hazard
        chance = grown / np.maximum(grown.sum(axis=1, keepdims=True), 1e-300)
        new_beta = beta + kappa * (x - mean) ** 2 / (2 * (kappa + 1))
        new_mean = (kappa * mean + x) / (kappa + 1)
        mean, beta = np.concatenate([mean0, new_mean[:, :-1]], axis=1), np.concatenate([var0, new_beta[:, :-1]], axis=1)
        now = np.argmax(chance, axis=1)
        fell = np.flatnonzero(alive & (now < likeliest + (likeliest < lengths - 1)))
        found.append(np.stack([fell, np.full(len(fell), t)], axis=1))
        likeliest = np.where(alive, now, likeliest)
    return np.concatenate(found) if found else np.zeros((0, 2), np.int64)


def steps_of(times: Sequence[Ints], *, most: int = 4000) -> list[Ints]:
    """Find step starts in each series of flow starts, ns: change points at long gaps.

    A long gap's logarithm is nearer to the maximum than to the median. At most `most` flows of a series are used.
    """
    gaps = [np.log(np.maximum(np.diff(t[:most]), 1).astype(np.float64)) for t in times]
    width = max((len(g) for g in gaps), default=0)
    if not width:
        return [np.zeros(0, np.int64) for _ in times]
    series = np.full((len(gaps), width), np.nan)
    for row, gap in enumerate(gaps):
        series[row, : len(gap)] = gap
    some = np.isfinite(series).any(axis=1)
    out = [np.zeros(0, np.int64) for _ in times]
    for place, row in enumerate(np.flatnonzero(some).tolist()):
        out[row] = np.array([place])
    points = change_points(series[some])
    for place, row in enumerate(np.flatnonzero(some).tolist()):
        own = points[points[:, 0] == place, 1]
        usual = float(np.nanmedian(series[row]) + np.nanmax(series[row])) / 2
        out[row] = own[series[row, own] > usual] + 1
    return out


def joined(flows: Flows, gap_ns: int) -> Flows:
    """Merge records of a pair less than `gap_ns` apart: the paper's flows are those of a switch, not messages."""
    order = np.lexsort((flows.start_ns, flows.dst, flows.src))
    pair = flows.src[order].astype(np.int64) * max(len(flows.endpoints), 1) + flows.dst[order]
    offset = np.cumsum(np.concatenate([[0], np.diff(pair) != 0])) * (int(flows.end_ns.max()) - int(flows.start_ns.min()) + 1)
    done = np.maximum.accumulate(flows.end_ns[order] - flows.start_ns.min() + offset)
    begun = flows.start_ns[order] - flows.start_ns.min() + offset
    first = np.flatnonzero(np.concatenate([[True], (np.diff(pair) != 0) | (begun[1:] - done[:-1] > gap_ns)]))
    out = flows.take(order[first])
    ends = np.maximum.reduceat(flows.end_ns[order], first)
    return replace(out, end_ns=ends, octets=np.add.reduceat(flows.octets[order], first))


def diagnose(
    flows: Flows, source: Source, *, topology: Topology | None = None, similar: float = 0.8, gap_ms: float = 3.0
) -> Diagnosis:
    """Diagnose by the paper's method.

    `similar`: minimum Jaccard similarity of host sets of one job; `gap_ms` separates flows.
    """
    flows = flows.take(np.flatnonzero(~flows.control()))
    flows = joined(flows, int(gap_ms * 1e6)) if len(flows) else flows
    known = np.array([topology is None or a in topology.endpoints for a in flows.endpoints], np.bool_)
    rows = np.flatnonzero(known[flows.src] & known[flows.dst] & (flows.src != flows.dst) & ~flows.control())
    rows = rows[np.argsort(flows.start_ns[rows], kind="stable")]
    by_pair: dict[Key, Ints] = {}
    key = flows.src[rows].astype(np.int64) * max(len(flows.endpoints), 1) + flows.dst[rows]
    order = np.argsort(key, kind="stable")
    for own in np.split(rows[order], np.flatnonzero(np.diff(key[order])) + 1) if len(rows) else []:
        by_pair[int(flows.src[own[0]]), int(flows.dst[own[0]])] = own
    found, findings = [], []
    for members in _jobs(flows, by_pair, topology, similar):
        inside = {k: r for k, r in by_pair.items() if k[0] in members}
        one, told = _one(flows, members, inside, topology)
        found.append(one)
        findings += told
    return Diagnosis(source, tuple(found), tuple(findings))


def _jobs(flows: Flows, pairs: dict[Key, Ints], topology: Topology | None, similar: float) -> list[set[int]]:
    """Stage 1: a disjoint set, then clusters of similar sets of hosts."""
    clusters = [set(part) for part in nx.connected_components(nx.Graph(list(pairs)))]
    if topology is None:
        return clusters
    hosts = [{topology.host(flows.endpoints[m]) for m in part} for part in clusters]
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(clusters)))
    for i in range(len(clusters)):
        for j in range(i):
            if len(hosts[i] & hosts[j]) >= similar * len(hosts[i] | hosts[j]):
                graph.add_edge(i, j)
    return [set().union(*(clusters[i] for i in part)) for part in nx.connected_components(graph)]


def _one(
    flows: Flows, members: set[int], pairs: dict[Key, Ints], topology: Topology | None
) -> tuple[JobDiagnosis, list[Finding]]:
    """Stages 2 to 4 for one job."""
    keys = sorted(pairs)
    starts = steps_of([flows.start_ns[pairs[k]] for k in keys])
    kinds = {k: _kind(flows.octets[pairs[k]], begun) for k, begun in zip(keys, starts, strict=True)}
    dp = [set(part) for part in nx.connected_components(nx.Graph([k for k in keys if kinds[k] == "dp"]))]
    for k in keys:  # data parallelism is transitive
        if any(k[0] in part and k[1] in part for part in dp):
            kinds[k] = "dp"
    pp = [set(part) for part in nx.connected_components(nx.Graph([k for k in keys if kinds[k] == "pp"]))]
    size, stages = _mode(dp), _mode(pp)
    tp = max(len(members) // (size * stages), 1)
    names = flows.endpoints
    endpoints = tuple(names[m] for m in sorted(members))
    groups = [
        Group(kind, tuple(names[m] for m in sorted(part)), "traffic", 1.0) for kind, own in _named(dp, pp) for part in own
    ]
    told = tuple(Pair(names[k[0]], names[k[1]], kinds[k], int(flows.octets[pairs[k]].sum())) for k in keys)
    every = np.concatenate(list(pairs.values()))
    hosts = {topology.host(a) for a in endpoints} if topology else set()
    job = Job(
        hashlib.blake2s("\n".join(endpoints).encode(), digest_size=4).hexdigest(),
        endpoints,
        tuple(sorted(h for h in hosts if h)),
        int(flows.start_ns[every].min()),
        int(flows.end_ns[every].max()),
    )
    leading = "dp" if dp else "pp"
    steps = _timelines(flows, sorted(members), {k: pairs[k] for k in keys if kinds[k] == leading})
    empty = np.zeros(0, np.int64)
    spans = Spans(empty, empty, empty.astype(np.int32), empty.astype(np.int8), empty.astype(np.int32))
    timeline = Timeline(tuple(steps), (), spans)
    layout = Layout(dp=size, pp=stages, tp=tp, confidence=1.0)
    findings = [*_cross_step(job, timeline), *_cross_group(flows, job, dp, pairs)]
    findings += _switches(flows, job, {k: r for k, r in pairs.items() if kinds[k] == "dp"}, topology)
    return JobDiagnosis(job, Parallelism(layout, tuple(groups), told), timeline), findings


def _named(dp: list[set[int]], pp: list[set[int]]) -> Iterator[tuple[GroupKind, list[set[int]]]]:
    yield "dp", dp
    yield "pp", pp


def _kind(octets: Ints, begun: Ints, *, tolerance: float = 0.01) -> PairKind:
    """Stage 2: count the sizes in most steps; a single size means pipeline."""
    counts = [_sizes(part, tolerance) for part in np.split(octets, begun) if len(part)]
    common = max(Counter(counts).items(), key=lambda c: (c[1], -c[0]))[0] if counts else 0
    return "pp" if common <= 1 else "dp"


def _sizes(octets: Ints, tolerance: float) -> int:
    size = np.sort(octets)
    return 1 + int((np.diff(size) > tolerance * size[1:]).sum())


def _mode(parts: list[set[int]]) -> int:
    sizes = Counter(len(part) for part in parts for _ in part)
    return max(sizes, key=lambda s: (sizes[s], s), default=1)


def _timelines(flows: Flows, members: list[int], pairs: dict[Key, Ints]) -> Iterator[Ints]:
    """Stage 3: a rank's steps end with its data-parallel communication."""
    rows = [
        np.concatenate([r for k, r in pairs.items() if m in k] or [np.zeros(0, np.int64)]).astype(np.int64) for m in members
    ]
    rows = [own[np.argsort(flows.start_ns[own], kind="stable")] for own in rows]
    for own, begun in zip(rows, steps_of([flows.start_ns[own] for own in rows]), strict=True):
        done = np.maximum.accumulate(flows.end_ns[own]) if len(own) else np.zeros(0, np.int64)
        ends = np.concatenate([done[begun - 1], done[-1:]])
        first = flows.start_ns[own[:1]]
        yield np.stack([np.concatenate([first, ends[:-1]]), ends], axis=1) if len(ends) else np.zeros((0, 2), np.int64)


def _far(values: Floats, *, k: float = 3.0) -> Ints:
    """Find values more than k standard deviations above the mean."""
    return np.flatnonzero(values > values.mean() + k * max(values.std(), 1e-9)) if len(values) > 2 else np.zeros(0, np.int64)


def _told(
    job: Job, kind: FindingKind, subject: SubjectType, ids: tuple[str, ...], span: tuple[int, int], ratio: float
) -> Finding:
    text = f"{', '.join(ids)} is more than three sigmas from its like"
    return Finding(kind, kind, job.id, Severity.WARNING, subject, ids, *span, round(ratio, 3), 3.0, text)


def _cross_step(job: Job, timeline: Timeline) -> Iterator[Finding]:
    """Stage 4: steps much longer than the job's others."""
    counts = Counter(len(s) for s in timeline.steps if len(s) > 1)
    if counts:
        rank = next(s for s in timeline.steps if len(s) == max(counts, key=lambda n: (counts[n], n)))
        length = np.diff(rank[:, 1]).astype(np.float64)
        for i in _far(length).tolist():
            span = int(rank[i, 1]), int(rank[i + 1, 1])
            yield _told(job, "slow_step", "job", (job.id,), span, float(length[i] / length.mean()))


def _cross_group(flows: Flows, job: Job, dp: list[set[int]], pairs: dict[Key, Ints]) -> Iterator[Finding]:
    """Stage 4: data-parallel groups much slower than the others."""
    busy = [[(flows.end_ns[r] - flows.start_ns[r]).sum() for k, r in pairs.items() if k[0] in part] for part in dp]
    mean = np.array([np.mean(own) if own else 0.0 for own in busy])
    for i in _far(mean).tolist():
        ids = tuple(flows.endpoints[m] for m in sorted(dp[i]))
        yield _told(job, "slow_group", "group", ids, (job.start_ns, job.end_ns), float(mean[i] / mean.mean()))


def _switches(flows: Flows, job: Job, pairs: dict[Key, Ints], topology: Topology | None) -> Iterator[Finding]:
    """Stage 4: switches whose data-parallel flows run at a much lower bandwidth."""
    rates: dict[str, list[float]] = defaultdict(list)
    for k, rows in pairs.items():
        time = float((flows.end_ns[rows] - flows.start_ns[rows]).sum())
        leaves = {topology.leaf(flows.endpoints[m]) for m in k} if topology else set()
        for switch in {*flows.paths[int(flows.path[rows[0]])], *(leaf for leaf in leaves if leaf)}:
            rates[switch].append(float(flows.octets[rows].sum()) / max(time, 1.0))
    names = sorted(rates)
    slowness = np.array([1 / max(float(np.mean(rates[name])), 1e-9) for name in names])
    for i in _far(slowness).tolist():
        yield _told(job, "slow_switch", "switch", (names[i],), (job.start_ns, job.end_ns), float(slowness[i] / slowness.mean()))
