"""Match jobs of one window to jobs of an earlier one.

A job's own id is a hash of its endpoints. Endpoints change: a rank is silent in a window, a host is replaced after a restart.
So a job is an earlier one if most endpoints of both are the same. Jobs that share all their endpoints are separated by octets
per pair and by layout.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from prism.model import Diagnosis, Job, JobDiagnosis

Moved = Mapping[tuple[str, str], int]  # octets from one endpoint to another
KINDS = ("dp", "pp", "tp", "ep", "cp")


@dataclass(frozen=True)
class Marks:
    """Features that identify a job. Empty ones are not compared."""

    endpoints: frozenset[str]
    moved: Moved = field(default_factory=dict)
    layout: tuple[int, ...] = ()  # sizes in the order of `KINDS`


def marks(job: JobDiagnosis) -> Marks:
    """Return the features of a diagnosed job."""
    parallelism = job.parallelism
    moved = {(pair.src, pair.dst): pair.octets for pair in parallelism.pairs}
    return Marks(frozenset(job.job.endpoints), moved, tuple(getattr(parallelism.layout, kind) for kind in KINDS))


def reported_jobs(text: str, name: str) -> dict[str, Marks]:
    """Read the jobs of an earlier report (schema `prism-report/1`) by id. Raises ValueError with `name` if it is no report."""
    try:
        return {str(job["id"]): _marks_of(job) for job in json.loads(text)["jobs"]}
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ValueError(f"{name}: is not a report of prism replay --json") from None


def _marks_of(job: Any) -> Marks:
    moved = {(str(pair["src"]), str(pair["dst"])): int(pair["octets"]) for pair in job.get("pairs", ())}
    sizes = job.get("parallelism", {})
    layout = tuple(int(sizes[kind]) for kind in KINDS) if sizes else ()
    return Marks(frozenset(map(str, job["endpoints"])), moved, layout)


def recognised(previous: Mapping[str, Marks], jobs: Sequence[Marks], *, share: float = 0.5) -> tuple[str | None, ...]:
    """Return for each job the id of the `previous` job that it is, one to one; None for a new one.

    More than `share` of the endpoints of either are in both. Of all assignments, the one with the largest similarity is used.
    """
    ids = list(previous)
    alike = np.zeros((len(jobs), len(ids)))
    of = defaultdict(list)
    for j, name in enumerate(ids):
        for endpoint in previous[name].endpoints:
            of[endpoint].append(j)
    for i, job in enumerate(jobs):
        for j, both in Counter(j for endpoint in job.endpoints for j in of[endpoint]).items():
            earlier = previous[ids[j]]
            if both > share * (len(job.endpoints) + len(earlier.endpoints) - both):
                alike[i, j] = _alike(job, earlier, both)
    pairs = zip(*linear_sum_assignment(alike, maximize=True), strict=True)
    found = {int(i): ids[j] for i, j in pairs if alike[i, j] > 0}
    return tuple(found.get(i) for i in range(len(jobs)))


def _alike(job: Marks, earlier: Marks, both: int) -> float:
    """Similarity of two jobs, 0 … 3: endpoints, octets per pair, layout."""
    endpoints = both / (len(job.endpoints) + len(earlier.endpoints) - both)
    totals = max(sum(job.moved.values()), 1), max(sum(earlier.moved.values()), 1)
    octets_moved = sum(min(octets / totals[0], earlier.moved.get(pair, 0) / totals[1]) for pair, octets in job.moved.items())
    return endpoints + octets_moved + (job.layout == earlier.layout != ())


def distinct(jobs: Sequence[Job], used_ids: Sequence[str] = ()) -> tuple[Job, ...]:
    """Give each job an id of its own that is none of `used_ids`: jobs on the same endpoints have the same hash."""
    used, out = set(used_ids), []
    for job in jobs:
        name, attempt = job.id, 0
        while name in used:
            attempt += 1
            name = hashlib.blake2s(f"{job.id} {attempt}".encode(), digest_size=4).hexdigest()
        used.add(name)
        out.append(replace(job, id=name))
    return tuple(out)


def renamed(diagnosis: Diagnosis, previous: Mapping[str, Marks]) -> Diagnosis:
    """Rename the jobs of a diagnosis to the `previous` ones that they are; other jobs get none of those ids."""
    jobs = [found.job for found in diagnosis.jobs]
    names = recognised(previous, [marks(found) for found in diagnosis.jobs])
    new_jobs = iter(distinct([job for job, name in zip(jobs, names, strict=True) if name is None], tuple(previous)))
    named_jobs = [replace(job, id=name) if name is not None else next(new_jobs) for job, name in zip(jobs, names, strict=True)]
    new = {job.id: now.id for job, now in zip(jobs, named_jobs, strict=True)}
    return replace(
        diagnosis,
        jobs=tuple(replace(found, job=job) for found, job in zip(diagnosis.jobs, named_jobs, strict=True)),
        findings=tuple(
            replace(f, job=new.get(f.job, f.job), ids=tuple(new.get(i, i) for i in f.ids) if f.subject == "job" else f.ids)
            for f in diagnosis.findings
        ),
        unexplained=tuple(
            re.sub(r"^job (\w+):", lambda at: f"job {new.get(at[1], at[1])}:", text) for text in diagnosis.unexplained
        ),
    )
