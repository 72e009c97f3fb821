"""Split and join clusters by the job ids that their packets carry (Ultra Ethernet).

The fabric manager gives each job an id, and every request carries it. Endpoints with two ids belong to two jobs, even if both
use the same storage. Clusters of one id are one job, even without traffic between them, but only if several ids were seen: a
single id may be a default.

Wrong if two jobs share a NIC (the job with more octets gets it), or if a job has several ids.
"""

from __future__ import annotations

from collections import Counter, defaultdict

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
    several = len(np.unique(job_ids[job_ids > 0])) > 1
    parts = defaultdict[tuple[int, int], set[int]](set)  # by job id, and by cluster where it joins none
    for i, members in enumerate(clusters):
        known = Counter(int(job_ids[member]) for member in members if job_ids[member])
        usual = max(known, key=lambda job: (known[job], -job), default=0)
        for member in members:
            job = int(job_ids[member]) or usual
            parts[job, -1 if job and several else i].add(member)
    return [frozenset(own) for own in parts.values()]
