"""Select the hosts to isolate: the smallest set that contains the cause with a given probability, or the whole group.

Source: ByteRobust, SOSP 2025: quick isolation of more hosts than necessary is better than a late exact answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from prism.diagnosis import constants as c
from prism.graph.job_view import View
from prism.model import Finding, Isolation

Weights = Mapping[tuple[str, ...], float]  # log-likelihood of each suspect


def isolation(view: View, finding: Finding, *, min_probability: float = c.ISOLATED) -> Isolation:
    """Select the hosts to isolate for a hang or crash; they contain the cause with `min_probability`, 0 … 1."""
    if finding.detector == "hang":
        weights = _by_silence(finding)
    elif finding.kind == "crash":
        weights = _by_connection_end(finding)
    else:
        return Isolation()
    return choose_hosts(_hosts(view, weights), _group(view, finding), min_probability)


def choose_hosts(weights: Weights, group: tuple[str, ...], min_probability: float) -> Isolation:
    """Select the likeliest suspects until their probabilities sum to `min_probability`.

    The whole `group` if that takes more than half of it.
    """
    if not weights:
        return Isolation()
    names = sorted(weights, key=lambda ids: (-weights[ids], ids))
    height = np.array([weights[ids] for ids in names])
    share = np.exp(height - height.max())
    share = (1 - c.NO_SUSPECT) * share / share.sum()
    ranked = tuple((ids, round(float(p), 4)) for ids, p in zip(names, share, strict=True))[: c.LISTED_HOSTS]
    if len(names[0]) > 1:
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
    own = set(ranks_of(view, finding))
    groups = [g.members for g in view.parallelism.groups if g.evidence == "traffic" and own & set(g.members)]
    members: tuple[str, ...] = min(groups, key=len, default=())
    return tuple(dict.fromkeys(map(view.host, members)))


def ranks_of(view: View, finding: Finding) -> list[str]:
    """Addresses of the ranks that a finding blames, with the ranks of their hosts that wait for them invisibly."""
    named = {*finding.ids, *finding.evidence.get("ranks", ())}
    own = {a for a in view.job.endpoints if a in named or view.host(a) in named}
    for members in view.parallelism.unseen:
        if own & set(members):
            own |= set(members)
    return sorted(own)


def _by_silence(finding: Finding) -> Weights:
    """Log-likelihood of suspects of a hang: share of other steps in which each rank was due to send first."""
    return {(a,): float(np.log(share)) for a, share in finding.evidence.get("due_first", {}).items()} or {
        tuple(finding.ids): 0.0
    }


def _by_connection_end(finding: Finding) -> Weights:
    """Log-likelihood of suspects of a crash by the time each closed its connections, in eighths of the median time."""
    closed = finding.evidence.get("closed_ms", {})
    scale = max(float(np.median(list(closed.values()))) / 8, float(np.spacing(1.0))) if len(closed) > 1 else 1.0
    return {(a,): -float(ms) / scale for a, ms in closed.items()} or {tuple(finding.ids): 0.0}
