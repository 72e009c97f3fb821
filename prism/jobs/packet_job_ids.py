"""Split and join groups of endpoints by the job ids that their packets carry (Ultra Ethernet).

The fabric's manager gives each job an id, and every request carries it. Endpoints of two ids are of two jobs, even if both talk
to the same storage. Groups of one id are one job, though nothing on the wire joins them: but only if several ids were seen.
Where all traffic has the same id, it may be a default that says nothing.

Wrong where two jobs share a NIC (it counts for the one that moves more octets), and where a job has several ids.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from collectors.columns.record import Flows, Ints


def main_job_ids(flows: Flows) -> Ints:
    """The job id of most octets that each endpoint sent or was sent, 0 where none has one. int64[endpoints]."""
    n = len(flows.endpoints)
    out = np.zeros(n, np.int64)
    rows = np.flatnonzero((flows.job_id > 0) & (flows.octets > 0)) if flows.holds("job_id") else np.zeros(0, np.intp)
    if not len(rows):
        return out
    ids, code = np.unique(flows.job_id[rows], return_inverse=True)
    both = np.concatenate([flows.src[rows], flows.dst[rows]]).astype(np.int64) * len(ids) + np.tile(code, 2)
    places, at = np.unique(both, return_inverse=True)
    octets = np.bincount(at, weights=np.tile(flows.octets[rows], 2))
    order = np.argsort(octets, kind="stable")  # the largest is written last
    out[places[order] // len(ids)] = ids[places[order] % len(ids)]
    return out


def by_job_id(flows: Flows, clusters: list[frozenset[int]]) -> list[frozenset[int]]:
    """Groups of endpoints (codes), of which none has two job ids and, if there are several ids, no two have the same.

    Endpoints without an id stay with the largest part of their group.
    """
    mine = main_job_ids(flows)
    if not mine.any():
        return clusters
    parts: list[tuple[int, frozenset[int]]] = []
    for members in clusters:
        own = defaultdict[int, set[int]](set)
        for member in members:
            own[int(mine[member])].add(member)
        silent = own.pop(0, set[int]())
        largest = max(own, key=lambda job: (len(own[job]), -job), default=0)
        own[largest] |= silent
        parts += [(job, frozenset(group)) for job, group in sorted(own.items())]
    if len({job for job, _ in parts if job}) < 2:
        return [group for _, group in parts]
    joined = defaultdict[int, frozenset[int]](frozenset)
    for job, group in parts:
        joined[job] |= group
    return [group for job, group in parts if not job] + [group for job, group in joined.items() if job]
