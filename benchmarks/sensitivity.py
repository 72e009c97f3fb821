"""How far each number of the constants tables can move before an answer changes.

    python -m benchmarks.sensitivity [DIR...] [--factor NUMBER]... [--only PATTERN]...

A capture is a folder as `benchmarks.accuracy` reads it; by default those of `pcaps`. benchmarks.scaling says what the numbers
are and how they are scaled. The whole analysis runs with each: jobs, layouts, steps, findings. Its answer is every job's
members, layout and number of steps, every finding's class, severity and subject, and whether either is said with 0.9.

Each row: the number, its value, the smallest division and multiplication among the `--factor`s (1.25, 2, 4) that change an
answer, and in which capture first. Largest factors come first, and nearer ones only if those change anything. `-`: none does;
`=`: all give the same whole number; `!`: the analysis fails. Numbers of mappings are fitted by other scripts, and compiled
loops keep theirs: both are only scaled if `--only` names them, the latter in vain.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from benchmarks.accuracy import captures, inputs, of_folder
from benchmarks.scaling import Constant, constants, modules, reading, scaled, times
from collectors.columns.record import Flows, Transits
from prism.analysis import diagnose_view, infer_job
from prism.graph.job_view import View
from prism.jobs import around, naming, recognize
from prism.jobs.endpoint_pairs import pairs_of, parts, split_by_part
from prism.loops.arrays.record_merging import Bursts
from prism.topology import Topology

FACTORS = (1.25, 2.0, 4.0)
SURE = 0.9  # confidence

Answer = frozenset[tuple[Any, ...]]
Key = tuple[str, str]


class Inferred(NamedTuple):
    """Candidates for jobs: their records, their views, and the bursts that replace the records."""

    flows: Flows
    view: View
    burst: Bursts | None


class Studied(NamedTuple):
    """A capture analysed without changes, and the constants that its views and its findings read."""

    name: str
    flows: Flows
    transits: Transits
    topology: Topology | None
    views: Sequence[Inferred]
    answer: Answer
    for_views: frozenset[Key]
    for_findings: frozenset[Key]


def inferred(flows: Flows, transits: Transits, topology: Topology | None) -> Iterator[Inferred]:
    """Find the jobs of a recording, their layouts and steps."""
    for own in split_by_part(flows, parts(pairs_of(flows), topology)):
        for job in recognize(own, topology, window=flows.window):
            records = naming(around(own, job), job)
            yield Inferred(records, *infer_job(records, transits, job, flows.window[1], topology))


def answer(views: Sequence[Inferred], window: tuple[int, int]) -> Answer:
    """Diagnose views, without what they have cached."""
    out = set[tuple[Any, ...]]()
    for flows, view, burst in views:
        one = diagnose_view(flows, replace(view, parallelism=replace(view.parallelism)), burst, window)
        if one.found is not None:
            layout, steps = one.found.parallelism.layout, len(one.found.timeline.durations_ms())
            out.add((one.job.endpoints, replace(layout, confidence=0), layout.confidence >= SURE, steps))
        for f in one.findings:
            ids = () if f.subject == "job" else f.ids
            out.add((one.job.endpoints, f.kind, f.severity, f.subject, ids, f.confidence >= SURE))
    return frozenset(out)


def studied(folder: Path, tables: Sequence[ModuleType]) -> Studied:
    """Analyse a capture with unchanged constants."""
    flows, transits, _, topology, _ = of_folder(folder, folder.name).open()
    with reading(tables) as names:
        views = list(inferred(flows, transits, topology))
        first = frozenset(names)
    with reading(tables) as names:
        found = answer(views, flows.window)
        second = frozenset(names)
    return Studied(f"{folder.parent.name}/{folder.name}", flows, transits, topology, views, found, first, second)


def changed(constant: Constant, factor: float, known: Sequence[Studied]) -> str:
    """Name the first capture whose answer a factor changes; with `!` if the analysis fails. Empty if there is none."""
    key = constant.module.__name__, constant.name
    with scaled(constant, factor):
        for one in (one for one in known if key in one.for_views | one.for_findings):
            try:
                views = list(inferred(one.flows, one.transits, one.topology)) if key in one.for_views else one.views
                found = answer(views, one.flows.window)
            except (ArithmeticError, LookupError, ValueError):  # an invalid number is one of the results
                return f"{one.name}!"
            if found != one.answer:
                return one.name
    return ""


def reach(constant: Constant, factors: Sequence[float], known: Sequence[Studied]) -> tuple[str, str]:
    """Return the factor nearest to 1 at which an answer changes, as text, and in which capture."""
    nearest, where = "-", ""
    factors = [factor for factor in factors if times(constant.value, factor) != constant.value]
    for factor in sorted(factors, key=lambda factor: -max(factor, 1 / factor)):
        name = changed(constant, factor, known)
        if not name:
            break
        nearest, where = f"×{factor:g}", name
    return nearest if factors else "=", where


def asked_for(constant: Constant, patterns: Sequence[str]) -> bool:
    """Whether a number is to be scaled: those named, else all that are read where they stand and are not fitted."""
    if patterns:
        return any(fnmatch(str(constant), pattern.replace("[", "[[]")) for pattern in patterns)
    compiled = constant.module.__name__ == "prism.loops.constants"
    return not compiled and not isinstance(getattr(constant.module, constant.name), Mapping)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 2 without input or without such a constant."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sensitivity", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="DIR", default=[Path("pcaps")])
    parser.add_argument("--factor", action="append", default=[], type=_factor, metavar="NUMBER", help="1.25, 2 and 4")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="constants like diagnosis.FEW*")
    asked = parser.parse_args(argv)
    tables, factors = modules(), tuple(asked.factor or FACTORS)
    todo = [one for table in tables for one in constants(table) if asked_for(one, asked.only)]
    folders = [f for f in captures([path.resolve() for path in asked.folders]) if inputs(f)]
    if not todo or not folders:
        print("no constant of that name" if folders else "no capture with a truth.json there", file=sys.stderr)
        return 2
    known = [studied(folder, tables) for folder in folders]
    width = max(len(str(one)) for one in todo) + 2
    print(f"{'constant':{width}}{'value':>10}{'lower':>9}{'upper':>9}  changed first", flush=True)
    matter = 0
    for one in todo:
        (low, first), (high, second) = (reach(one, [f**sign for f in factors], known) for sign in (-1, 1))
        matter += bool(first or second)
        print(f"{one!s:{width}}{one.value:>10g}{low:>9}{high:>9}  {first}{', ' * bool(first and second)}{second}", flush=True)
    print(f"{matter} of {len(todo)} numbers change an answer of {len(known)} captures")
    return 0


def _factor(text: str) -> float:
    factor = float(text)
    if not 1 < factor < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no factor: a number above 1")
    return factor


if __name__ == "__main__":
    sys.exit(main())
