"""The true jobs of captures and simulated clusters, and the evidence of their records: what the scripts that fit tables learn
from.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import grid
from benchmarks.accuracy import Input, captures, inputs, of_case, of_folder, seed_and_count
from collectors.columns.record import Flows
from prism.jobs import around, naming
from prism.layout.search.problem import Problem, problem_of
from prism.model import Job
from prism.topology import Topology

PART = 5, 12  # steps of a part of a recording


class Case(NamedTuple):
    """One true job: its records, its members, the true layout, what else is known of it, and the origin of its records."""

    name: str
    flows: Flows
    members: tuple[str, ...]
    topology: Topology | None
    layout: Mapping[str, int]
    job: Mapping[str, Any] = {}
    origin: str = ""


def asked_cases(
    module: str, description: str, argv: Sequence[str] | None, **options: Any
) -> tuple[argparse.Namespace, Iterator[Case]]:
    """Parse the command line of a script that fits a table; return its arguments, and the true jobs of its captures and grids.

    `options`: numbers that it takes besides, with their defaults. Clusters of the grid are small and have no faults.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{module}", description=description.partition("\n")[0])
    parser.add_argument("folders", nargs="*", metavar="[ORIGIN=]DIR")
    parser.add_argument("--grid", action="append", default=[], type=seed_and_count, metavar="SEED:COUNT")
    for name, default in options.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, metavar="NUMBER")
    asked = parser.parse_args(argv)

    def every() -> Iterator[Case]:
        for origin, _, path in (text.rpartition("=") for text in asked.folders):
            for folder in (own for own in captures([Path(path).resolve()]) if inputs(own)):
                yield from (case._replace(origin=origin or case.origin) for case in cases(of_folder(folder, folder.name)))
        for seed, count in asked.grid:
            for case in grid.cases(seed, count, scales=("small",)):
                yield from cases(of_case(replace(case, fault="none", spec=replace(case.spec, faults=()))))

    return asked, every()


def nothing_found() -> int:
    """Say that there is nothing to fit to; return the exit status."""
    print("no capture with a truth.json there, or none with evidence", file=sys.stderr)
    return 2


def cases(one: Input) -> Iterator[Case]:
    """Yield the true jobs of an input; a restarted job counts once."""
    flows, _, _, placed, truth = one.open()
    payload = ~flows.control()
    codes = np.unique(np.concatenate([flows.src[payload], flows.dst[payload]]))
    spoke = {flows.endpoints[code] for code in codes.tolist()}
    seen = set()
    for job, true in truth["jobs"].items():
        members = tuple(rank["ip"] for rank in true["ranks"])
        if frozenset(members) in seen or not spoke.intersection(members):
            continue
        seen.add(frozenset(members))
        own = Job(job, tuple(m for m in members if m in spoke), (), *flows.window)
        records = naming(around(flows, own), own)
        yield Case(f"{one.name} {job}", records, members, placed, true["layout"], true, one.tags["origin"])


def evidence(case: Case) -> Problem | None:
    """Collect the evidence of a job."""
    return problem_of(case.flows, case.members, case.topology)


def part(case: Case, whole: Problem) -> Case | None:
    """Select the records of some consecutive steps, as in the window of a service; None if there are hardly more steps."""
    rng, count = np.random.default_rng(zlib.crc32(case.name.encode())), whole.steps.count
    steps = rng.uniform(*PART)
    if count <= steps + PART[0]:
        return None
    first = case.flows.window[0] + int(rng.uniform(1, count - steps - 1) * whole.steps.period)
    inside = (case.flows.start_ns >= first) & (case.flows.end_ns < first + steps * whole.steps.period)
    return case._replace(flows=case.flows.take(inside)) if inside.any() else None


def places(problem: Problem, job: Mapping[str, Any]) -> dict[int, int]:
    """Place of each rank of a true job among the members of its evidence."""
    place = {address: i for i, address in enumerate(problem.members)}
    return {one["rank"]: place[one["ip"]] for one in job["ranks"] if one["ip"] in place}
