"""Which job of this window is which job of an earlier one.

A job's own name is a hash of its endpoints. Endpoints come and go: a rank says nothing in a window, a host is replaced in a
restart. So a job is an earlier one where most of the endpoints of both are the same. Twins that share all their endpoints are
told apart by who sends how much to whom, and by their layouts.
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
    """What a job is known by. What is empty says nothing."""

    endpoints: frozenset[str]
    moved: Moved = field(default_factory=dict)
    layout: tuple[int, ...] = ()  # sizes in the order of `KINDS`


def marks(found: JobDiagnosis) -> Marks:
    """The marks of a job that was diagnosed."""
    parallelism = found.parallelism
    moved = {(pair.src, pair.dst): pair.octets for pair in parallelism.pairs}
    return Marks(frozenset(found.job.endpoints), moved, tuple(getattr(parallelism.layout, kind) for kind in KINDS))


def known(text: str, name: str) -> dict[str, Marks]:
    """The jobs of an earlier report (schema `prism-report/1`) by id. Raises ValueError with the `name` of what is none."""
    try:
        return {str(job["id"]): _told(job) for job in json.loads(text)["jobs"]}
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ValueError(f"{name}: is not a report of prism replay --json") from None


def _told(job: Any) -> Marks:
    moved = {(str(pair["src"]), str(pair["dst"])): int(pair["octets"]) for pair in job.get("pairs", ())}
    sizes = job.get("parallelism", {})
    layout = tuple(int(sizes[kind]) for kind in KINDS) if sizes else ()
    return Marks(frozenset(map(str, job["endpoints"])), moved, layout)


def recognised(previous: Mapping[str, Marks], jobs: Sequence[Marks], *, share: float = 0.5) -> tuple[str | None, ...]:
    """For each job the id of the `previous` one that it is, one to one; None for one that was not there.

    The endpoints in both are more than `share` of those in either. Of all ways to pair jobs, that in which they are most alike.
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
    """How alike two jobs are, 0 … 3: in endpoints, in what they move, in layout."""
    endpoints = both / (len(job.endpoints) + len(earlier.endpoints) - both)
    totals = max(sum(job.moved.values()), 1), max(sum(earlier.moved.values()), 1)
    moved = sum(min(octets / totals[0], earlier.moved.get(pair, 0) / totals[1]) for pair, octets in job.moved.items())
    return endpoints + moved + (job.layout == earlier.layout != ())


def distinct(jobs: Sequence[Job], taken: Sequence[str] = ()) -> tuple[Job, ...]:
    """The jobs, each with an id of its own and none that is `taken`: twins on the same endpoints have the same hash."""
    used, out = set(taken), []
    for job in jobs:
        name, again = job.id, 0
        while name in used:
            again += 1
            name = hashlib.blake2s(f"{job.id} {again}".encode(), digest_size=4).hexdigest()
        used.add(name)
        out.append(replace(job, id=name))
    return tuple(out)


def renamed(diagnosis: Diagnosis, previous: Mapping[str, Marks]) -> Diagnosis:
    """The diagnosis with the jobs named as the `previous` ones that they are; no other job has the name of one of those."""
    jobs = [found.job for found in diagnosis.jobs]
    names = recognised(previous, [marks(found) for found in diagnosis.jobs])
    fresh = iter(distinct([job for job, name in zip(jobs, names, strict=True) if name is None], tuple(previous)))
    told = [replace(job, id=name) if name is not None else next(fresh) for job, name in zip(jobs, names, strict=True)]
    new = {job.id: now.id for job, now in zip(jobs, told, strict=True)}
    return replace(
        diagnosis,
        jobs=tuple(replace(found, job=job) for found, job in zip(diagnosis.jobs, told, strict=True)),
        findings=tuple(
            replace(f, job=new.get(f.job, f.job), ids=tuple(new.get(i, i) for i in f.ids) if f.subject == "job" else f.ids)
            for f in diagnosis.findings
        ),
        unexplained=tuple(
            re.sub(r"^job (\w+):", lambda at: f"job {new.get(at[1], at[1])}:", text) for text in diagnosis.unexplained
        ),
    )
