"""Compare the rates of a finding's culprit with its peers and with earlier rates.

`sending` is the speed of records (octets over their duration, median weighted by octets): a slow NIC or link moves the same
octets per step, but slower. Peers are the other endpoints of the job, or the other links and switches of the same tier.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.model import Finding, Job
from prism.rates.rate_series import By, Floats, Series, series
from prism.topology import Topology
from prism.views.board_views import Json, finite, ns

BINS = 120


def beside_peers(flows: Flows, finding: Finding, job: Job, topology: Topology | None, start_ns: int, end_ns: int) -> Json:
    """Compute series of the culprit and of the median of its peers, and both send speeds before and since the finding began."""
    by, own = culprit_of(finding, topology)
    whole = series(flows, topology, by, start_ns, end_ns, BINS)
    peers = [name for name in dict.fromkeys(whole.names) if name not in own and _is_peer(name, by, own, job)]
    mine, theirs = whole.of(own), whole.of(peers)
    begin = finding.start_ns
    return {
        "by": by,
        "ids": list(own),
        "start_ns": ns(start_ns),
        "bin_ms": (end_ns - start_ns) / BINS / 1e6,
        "begin_ns": ns(begin),
        "culprit": _listed(_sum(mine)),
        "peers": _listed(_median_series(theirs)),
        "peers_number": len(peers),
        "sending": {
            "usual": _send_speed(flows, by, own, None, begin, topology),
            "now": _send_speed(flows, by, own, begin, finding.end_ns, topology),
            "peers": _send_speed(flows, by, peers, begin, finding.end_ns, topology),
        },
        "edges": _edges(flows, by, own, begin),
    }


def culprit_of(finding: Finding, topology: Topology | None) -> tuple[By, tuple[str, ...]]:
    """Return the kind and the names of the entities whose rates show the culprit."""
    if finding.subject == "link":
        switches = set(topology.switches()) if topology is not None else set()
        if set(finding.ids) <= switches:
            a, b = finding.ids[0], finding.ids[-1]
            return "link", (f"{a}>{b}", f"{b}>{a}")
        return "pair", (f"{finding.ids[0]}>{finding.ids[-1]}", f"{finding.ids[-1]}>{finding.ids[0]}")
    if finding.subject == "switch":
        return "switch", finding.ids
    if finding.subject == "host" and topology is not None:
        return "endpoint", tuple(address for host in finding.ids for address in topology.at.get(host, ()))
    return "endpoint", finding.ids


def _is_peer(name: str, by: By, own: Sequence[str], job: Job) -> bool:
    if by == "endpoint":
        return name in job.endpoints
    if by == "pair":
        return all(end in job.endpoints for end in name.split(">"))
    if by == "link":  # same tier: names of switches differ only in their number
        return _tier(name) in {_tier(one) for one in own}
    return _tier(name) in {_tier(one) for one in own}


def _tier(name: str) -> str:
    return "".join(c for c in name if not c.isdigit())


def _sum(found: Series) -> Floats:
    """Total rate that it sends (or moves)."""
    rows = [i for i, way in enumerate(found.ways) if way != "in"]
    return np.asarray(found.gbit_s[rows].sum(axis=0)) if rows else np.zeros(BINS)


def _median_series(found: Series) -> Floats:
    rows = [i for i, way in enumerate(found.ways) if way != "in"]
    return np.asarray(np.median(found.gbit_s[rows], axis=0)) if rows else np.zeros(BINS)


def _listed(values: Floats) -> list[float | None]:
    return [finite(one) for one in values.tolist()]


def moving(flows: Flows, by: By, names: Sequence[str], topology: Topology | None) -> NDArray[np.bool_]:
    """Select the records that some endpoints, pairs, links or switches move."""
    every = np.array(flows.endpoints)
    if by == "endpoint":
        return np.isin(flows.src, np.flatnonzero(np.isin(every, names)))
    if by == "pair":
        code = {name: i for i, name in enumerate(flows.endpoints)}
        pairs = [tuple(code.get(end, -1) for end in name.split(">")) for name in names]
        found = np.zeros(len(flows), np.bool_)
        for src, dst in pairs:
            found |= (flows.src == src) & (flows.dst == dst)
        return found
    wanted = {tuple(name.split(">")) for name in names}
    paths = [
        code
        for code, way in enumerate(flows.paths)
        if any((a, b) in wanted or (a,) in wanted or (b,) in wanted for a, b in pairwise(way))
    ]
    if by == "switch" and topology is not None:
        leaves = np.array([topology.leaf(name) in set(names) for name in flows.endpoints], np.bool_)
        return np.isin(flows.path, paths) | leaves[flows.src] | leaves[flows.dst]
    return np.isin(flows.path, paths)


def _send_speed(
    flows: Flows, by: By, names: Sequence[str], since_ns: int | None, until_ns: int, topology: Topology | None
) -> float | None:
    """Speed of records, Gbit/s: median weighted by octets; None without records of some duration."""
    if not names:
        return None
    rows = moving(flows, by, names, topology) & (flows.end_ns > flows.start_ns) & (flows.start_ns < until_ns)
    rows &= flows.start_ns >= since_ns if since_ns is not None else True
    own = np.flatnonzero(rows)
    if not len(own):
        return None
    weight = flows.octets[own].astype(np.float64)
    rate = weight * 8 / (flows.end_ns - flows.start_ns)[own]
    order = np.argsort(rate)
    total = np.cumsum(weight[order])
    return finite(float(rate[order][np.searchsorted(total, total[-1] / 2)])) if total[-1] else None


def _edges(flows: Flows, by: By, own: Sequence[str], begin_ns: int, *, max_pairs: int = 8) -> list[Json]:
    """Return the culprit's pairs with most octets, and the send speed of each before and since."""
    if by not in ("endpoint", "pair"):
        return []
    rows = moving(flows, by, own, None)
    many = len(flows.endpoints)
    pairs = flows.src.astype(np.int64) * many + flows.dst
    found, place = np.unique(pairs[rows], return_inverse=True)
    octets = np.bincount(place, weights=flows.octets[rows].astype(np.float64), minlength=len(found))
    out = []
    for at in np.argsort(-octets)[:max_pairs].tolist():
        name = f"{flows.endpoints[found[at] // many]}>{flows.endpoints[found[at] % many]}"
        usual = _send_speed(flows, "pair", [name], None, begin_ns, None)
        now = _send_speed(flows, "pair", [name], begin_ns, (1 << 63) - 1, None)
        out.append({"pair": name, "octets": int(octets[at]), "usual": usual, "now": now})
    return out
