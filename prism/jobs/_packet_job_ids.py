"""Split and join clusters by the job ids that their packets carry (Ultra Ethernet).

The fabric manager gives each job an id, and every request carries it. Endpoints with two ids belong to two jobs, even if both
use the same storage. Clusters of one id are one job, even without traffic between them, but only if several ids were seen: a
single id may be a default.

Wrong if two jobs share a NIC (the job with more octets gets it), or if a job has several ids.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from collectors.columns.record import Flows, Ints


def main_job_ids(flows: Flows) -> Ints:
    """Job id with most octets of each endpoint, 0 if none. int64[endpoints]."""
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
    """Split and join groups of endpoints (codes) so that none has two job ids and, with several ids, no two have the same."""
    job_ids = main_job_ids(flows)
    if not job_ids.any():
        return clusters
    parts: list[tuple[int, frozenset[int]]] = []
    for members in clusters:
        own = defaultdict[int, set[int]](set)
        for member in members:
            own[int(job_ids[member])].add(member)
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
