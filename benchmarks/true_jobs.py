"""The true jobs of captures, and the evidence of their records: what the scripts that fit tables learn from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.accuracy import of_folder
from collectors.columns.record import Flows
from prism.jobs import around, naming
from prism.layout.search.problem import Problem, problem_of
from prism.model import Job
from prism.topology import Topology


class Case(NamedTuple):
    """One job of a capture: its records, its members, and the true layout."""

    name: str
    flows: Flows
    members: tuple[str, ...]
    topology: Topology | None
    layout: Mapping[str, int]


def cases(folder: Path, name: str) -> Iterator[Case]:
    """Yield the true jobs of a capture; a restarted job counts once."""
    flows, _, _, placed, truth = of_folder(folder, name).open()
    payload = ~flows.control()
    codes = np.unique(np.concatenate([flows.src[payload], flows.dst[payload]]))
    spoke = {flows.endpoints[code] for code in codes.tolist()}
    seen = set()
    for job, true in truth["jobs"].items():
        members = tuple(rank["ip"] for rank in true["ranks"])
        if frozenset(members) in seen or not spoke.intersection(members):
            continue
        seen.add(frozenset(members))
        one = Job(job, tuple(m for m in members if m in spoke), (), *flows.window)
        yield Case(f"{name} {job}", naming(around(flows, one), one), members, placed, true["layout"])


def evidence(case: Case) -> Problem | None:
    """Collect the evidence of a job."""
    return problem_of(case.flows, case.members, case.topology)
