"""Select the hosts to isolate: the smallest set that contains the cause with a given probability, or the whole group.

Source: ByteRobust, SOSP 2025: quick isolation of more hosts than necessary is better than a late exact answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from prism.diagnosis.assessment import constants as c
from prism.diagnosis.assessment.finding_scope import ranks_of
from prism.graph.job_view import View
from prism.model import Finding, Isolation

Weights = Mapping[tuple[str, ...], float]  # log-likelihood of each suspect


def isolation(
    view: View,
    finding: Finding,
    *,
    min_probability: float = c.ISOLATED,
    most: int = c.LISTED_HOSTS,
    doubt: float = c.NO_SUSPECT,
) -> Isolation:
    """Select the hosts to isolate for a finding.

    Parameters
    ----------
    view : View
        The job by step and edge.
    finding : Finding
        The finding.
    min_probability : float
        Probability that the hosts contain the cause.
    most : int
        Number of alternatives to list.
    doubt : float
        Probability that the cause is none of the suspects, because traffic outside the network misled the evidence.

    Returns
    -------
    Isolation
        Hosts or parts, the probability that they contain the cause, and alternatives.
    """
    if finding.detector == "hang":
        weights = _by_silence(finding)
    elif finding.kind == "crash":
        weights = _by_connection_end(finding)
    else:
        return Isolation()
    return choose_hosts(
        _hosts(view, weights), _group(view, finding), finding, min_probability=min_probability, most=most, doubt=doubt
    )


def choose_hosts(
    weights: Weights, group: tuple[str, ...], finding: Finding, *, min_probability: float, most: int, doubt: float = 0.0
) -> Isolation:
    """Select the likeliest suspects until their probabilities sum to `min_probability`.

    The whole `group` if that takes more than half of it.
    """
    if not weights:
        return Isolation()
    names = sorted(weights, key=lambda ids: (-weights[ids], ids))
    height = np.array([weights[ids] for ids in names])
    share = np.exp(height - height.max())
    share = (1 - doubt) * share / share.sum()
    ranked = tuple((ids, round(float(p), 4)) for ids, p in zip(names, share, strict=True))[:most]
    if len(names[0]) > 1 or finding.subject == "switch":
        behind = ((group, round(float(share[0]), 4)),) if group else ()
        return Isolation((), names[0], round(float(share[0]), 4), ranked + behind)
    enough = int(np.searchsorted(np.cumsum(share), min_probability - 1e-9)) + 1
    held = float(share[:enough].sum())
    hosts = tuple(name for ids in names[:enough] for name in ids)
    if enough > 1 and 2 * enough > len(group) > enough:
        hosts, held = tuple(sorted({*hosts, *group})), float(share[: max(enough, len(group))].sum())
    return Isolation(hosts, (), round(min(held, 1.0), 4), ranked)


def _hosts(view: View, weights: Weights) -> Weights:
    """Suspects by host: the largest log-likelihood of the host's endpoints."""
    out: dict[tuple[str, ...], float] = defaultdict(lambda: -np.inf)
    for ids, weight in weights.items():
        host = view.topology.host(ids[0]) if view.topology is not None and len(ids) == 1 else None
        name = ids if host is None else (host,)
        out[name] = max(out[name], weight)
    return dict(out)


def _group(view: View, finding: Finding) -> tuple[str, ...]:
    """Hosts of the smallest group with traffic that contains the cause."""
    own = {view.job.endpoints[r] for r in ranks_of(view, finding)}
    groups = [g.members for g in view.parallelism.groups if g.evidence == "traffic" and own & set(g.members)]
    members = min(groups, key=len, default=())
    hosts = [view.host(m) for m in members]
    return tuple(dict.fromkeys(hosts))


def _by_silence(finding: Finding) -> Weights:
    """Log-likelihood of suspects of a hang: share of other steps in which each rank was due to send first."""
    return {(a,): float(np.log(share)) for a, share in finding.evidence.get("due_first", {}).items()} or {
        tuple(finding.ids): 0.0
    }


def _by_connection_end(finding: Finding) -> Weights:
    """Log-likelihood of suspects of a crash by the time each closed its connections, in eighths of the median time."""
    closed = finding.evidence.get("closed_ms", {})
    scale = max(float(np.median(list(closed.values()))) / 8, c.LEAST_TIME) if len(closed) > 1 else 1.0
    return {(a,): -float(ms) / scale for a, ms in closed.items()} or {tuple(finding.ids): 0.0}
