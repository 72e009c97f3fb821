"""Scale each number of the constants tables and count how many jobs of given captures get another answer.

    python -m benchmarks.sensitivity DIR... [--factor NUMBER]... [--only PATTERN]... [--steps] [--changing]

A capture is a folder as `benchmarks.accuracy` reads it; benchmarks.scaling says what the numbers are and how they are scaled.

The answer of a job is the likeliest layout and its members, inferred from the job's true members; with --steps also the number
of steps. This run cannot judge numbers that only job recognition or detectors read: it lists them as not read.

Each row: the number, its value, by factor how many of the jobs change their answer (and the change in the number of right
layouts), and the factor nearest to 1 that changes any. `=`: the factor gives the same whole number. `!`: the analysis fails.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

from benchmarks.accuracy import captures, inputs, of_folder
from benchmarks.scaling import Constant, constants, modules, reading, scaled, times
from collectors.columns.record import Flows
from prism.jobs import around, naming
from prism.layout.answer.posterior import answers
from prism.layout.search.problem import Problem, problem_of
from prism.model import Job
from prism.topology import Topology

FACTORS = (0.5, 0.8, 1.25, 2.0)


class Case(NamedTuple):
    """One job of a capture: its records, its sending and its silent members, and the true layout."""

    name: str
    flows: Flows
    members: tuple[str, ...]
    silent: tuple[str, ...]
    topology: Topology | None
    layout: Mapping[str, int]


class Answer(NamedTuple):
    """Inferred properties of a job. `layout`: None if there is none; `right`: as in the capture's truth."""

    layout: tuple[tuple[str, int], ...] | None
    members: frozenset[int]
    steps: int
    right: bool


class Studied(NamedTuple):
    """A job inferred without changes, and the constants read for evidence and for answers."""

    case: Case
    problem: Problem | None
    answer: Answer
    for_evidence: frozenset[tuple[str, str]]
    for_answers: frozenset[tuple[str, str]]


class Row(NamedTuple):
    """A constant and, by factor: jobs that changed, change in right layouts, failures. None: the same value."""

    constant: Constant
    read: int
    changed: Mapping[float, tuple[int, int, int] | None]

    @property
    def nearest(self) -> float | None:
        """Return the factor nearest to 1 at which an answer changes."""
        found = [factor for factor, counts in self.changed.items() if counts and (counts[0] or counts[2])]
        return min(found, key=lambda factor: abs(math.log(factor)), default=None)


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
        loud, silent = (tuple(m for m in members if (m in spoke) is said) for said in (True, False))
        one = Job(job, loud, (), *flows.window)
        yield Case(f"{name} {job}", naming(around(flows, one), one), loud, silent, placed, true["layout"])


def evidence(case: Case) -> Problem | None:
    """Collect the evidence of a job."""
    return problem_of(case.flows, case.members, case.topology, case.silent)


def answer(case: Case, problem: Problem | None) -> Answer:
    """Infer the answer from the evidence, without cached results."""
    if problem is None:
        return Answer(None, frozenset(), 0, False)
    given = {f.name: getattr(problem, f.name) for f in fields(problem) if f.init and not f.name.startswith("_")}
    fresh, steps = Problem(**given), round(problem.steps.count)
    found = answers(fresh)
    if not found:
        return Answer(None, frozenset(), steps, False)
    best = found[0].best
    right = all(best.layout.get(kind, 1) == size for kind, size in case.layout.items())
    return Answer(tuple(sorted(best.layout.items())), frozenset(best.members), steps, right)


def studied(case: Case, tables: Sequence[ModuleType]) -> Studied:
    """Infer a job with unchanged constants."""
    with reading(tables) as names:
        problem = evidence(case)
        first = frozenset(names)
    with reading(tables) as names:
        found = answer(case, problem)
        second = frozenset(names)
    return Studied(case, problem, found, first, second)


def row(constant: Constant, jobs: Sequence[Studied], factors: Sequence[float], *, steps: bool) -> Row:
    """Measure how a constant changes the answers. Jobs and evidence that do not read it are not computed again."""
    key = constant.module.__name__, constant.name
    reads = [job for job in jobs if key in job.for_evidence or key in job.for_answers]
    changed: dict[float, tuple[int, int, int] | None] = {}
    for factor in factors:
        if times(constant.value, factor) == constant.value:
            changed[factor] = None
            continue
        counts: Counter[str] = Counter()
        with scaled(constant, factor):
            for job in reads:
                try:
                    found = answer(job.case, evidence(job.case) if key in job.for_evidence else job.problem)
                except (ArithmeticError, LookupError, ValueError):  # an invalid number is one of the results
                    counts["failed"] += 1
                    continue
                counts["changed"] += _differ(found, job.answer, steps=steps)
                counts["right"] += found.right - job.answer.right
        changed[factor] = counts["changed"], counts["right"], counts["failed"]
    return Row(constant, len(reads), changed)


def _differ(one: Answer, other: Answer, *, steps: bool) -> bool:
    return one[:2] != other[:2] or (steps and one.steps != other.steps)


def line(one: Row, many: int, width: int) -> str:
    """Format a row of the table."""
    if not one.read:
        return f"{one.constant!s:{width}}{one.constant.value:>10g}  not read"
    cells = "".join(f"{_cell(counts):>9}" for counts in one.changed.values())
    nearest = f"×{one.nearest:g}, {sum((one.changed[one.nearest] or ())[::2])} of {many}" if one.nearest else "-"
    return f"{one.constant!s:{width}}{one.constant.value:>10g}{cells}  {nearest}"


def _cell(counts: tuple[int, int, int] | None) -> str:
    if counts is None:
        return "="
    changed, right, failed = counts
    return f"{changed}{f' ({right:+d})' if right else ''}{'!' * bool(failed)}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 2 without input or without such a constant."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sensitivity", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--factor", action="append", default=[], type=_factor, metavar="NUMBER", help="0.5, 0.8, 1.25 and 2")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="constants like layout.FORMS*")
    parser.add_argument("--steps", action="store_true", help="another number of steps is another answer")
    parser.add_argument("--changing", action="store_true", help="print only constants that change an answer")
    asked = parser.parse_args(argv)
    tables, factors = modules(), tuple(asked.factor or FACTORS)
    patterns = [pattern.replace("[", "[[]") for pattern in asked.only]
    every = [one for table in tables for one in constants(table)]
    todo = [one for one in every if not patterns or any(fnmatch(str(one), pattern) for pattern in patterns)]
    folders = [f for f in captures([path.resolve() for path in asked.folders]) if inputs(f)]
    if not todo or not folders:
        print("no constant of that name" if folders else "no capture with a truth.json there", file=sys.stderr)
        return 2
    jobs = [studied(case, tables) for f in folders for case in cases(f, f"{f.parent.name}/{f.name}")]
    right = sum(job.answer.right for job in jobs)
    print(f"{len(todo)} numbers, {len(jobs)} jobs, {right} layouts right; by factor: answers changed (change in right ones)")
    width = max(len(str(one)) for one in todo) + 2
    print(f"{'constant':{width}}{'value':>10}{''.join(f'×{factor:g}'.rjust(9) for factor in factors)}  nearest, changed")
    moved = 0
    for one in todo:
        found = row(one, jobs, factors, steps=asked.steps)
        moved += found.nearest is not None
        if found.nearest is not None or not asked.changing:
            print(line(found, len(jobs), width), flush=True)
    print(f"{moved} of {len(todo)} numbers change an answer")
    return 0


def _factor(text: str) -> float:
    factor = float(text)
    if not 0 < factor < math.inf or factor == 1:
        raise argparse.ArgumentTypeError(f"{text} is no factor: a number above 0 that is not 1")
    return factor


if __name__ == "__main__":
    sys.exit(main())
