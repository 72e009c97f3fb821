"""Fit the likelihoods of due operations (`prism.diagnosis.constants`) to labelled hangs.

    python -m benchmarks.stops DIR...

A capture is a folder as `benchmarks.accuracy` reads it. An example is a stop in the time of a recorded hang. Coordinate search
maximises the mean log-probability that the answer gives to the rank that stopped, or to its host. Each origin
(`benchmarks.origins`) counts as the root of its number of examples, so that none decides alone. A likelihood at a bound
is not determined by the examples. Pauses of healthy jobs are no examples: `nobody` is too low if fitted to hangs alone.

Rows: each likelihood with its present and its fitted value, and the mean log-probability with both. Then by origin: examples,
and the share of them whose likeliest host contains the rank that stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import origins
from benchmarks.accuracy import captures, of_folder
from benchmarks.sensitivity import inferred
from prism.diagnosis import constants as c
from prism.diagnosis.stops.due_operations import Due, Stop, due_operations, explained, near, progress, usual_steps
from prism.diagnosis.stops.hang import stops
from prism.graph import constants as g
from prism.graph.job_view import View
from prism.loops.arrays.intervals import Ints

PRESENT: Mapping[str, float] = {"hidden": c.HIDDEN, "chance": c.CHANCE, "nobody": c.NOBODY, "alive": c.ALIVE}
FACTORS = (0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0)  # of a likelihood, tried in each round
ROUNDS = 4  # of the search; each may move a likelihood by the largest of the factors
LEAST, MOST = 1e-3, 0.75  # bounds of a likelihood


class Example(NamedTuple):
    """The due operations of a stop, and the rank that stopped."""

    origin: str
    view: View
    found: Due
    guilty: int


def examples(folders: Sequence[Path]) -> Iterator[Example]:
    """Yield the stops of all recorded hangs."""
    for folder in captures(folders):
        truth = json.loads((folder / "truth.json").read_text())
        hangs = [fault for fault in truth["faults"] if fault["kind"] == "hang"]
        if not hangs:
            continue
        flows, transits, _, topology, _ = of_folder(folder, folder.name).open()
        views = [one.view for one in inferred(flows, transits, topology)]
        for fault in hangs:
            address = next(r["ip"] for r in truth["jobs"][fault["job"]]["ranks"] if r["rank"] in fault["ranks"])
            for view in (one for one in views if address in one.job.endpoints):
                calm = usual_steps(view)
                for stop in stops(view) if len(calm) >= g.FEW else ():
                    like = near(calm, stop.step)
                    if stop.start < fault["end_ns"] and fault["start_ns"] < stop.end and _begun(view, stop, like):
                        found = due_operations(view, stop, like)
                        yield Example(origins.of_folder(folder), view, found, view.job.endpoints.index(address))


def _begun(view: View, stop: Stop, like: Ints) -> bool:
    """Whether a step had begun, and was not complete: else nobody was due (`hang`)."""
    sent, rest = progress(view, stop, like)
    return bool((sent > c.SLACK).any() and (rest > c.SLACK).any())


def chance_of(one: Example, likelihoods: Mapping[str, float]) -> tuple[float, bool]:
    """Probability that the answer gives to the rank that stopped or its host; whether its host is the likeliest."""
    ranks, hosts = explained(one.view, one.found, **likelihoods)
    where = one.view.hosts if (one.view.hosts >= 0).all() else np.arange(len(ranks))
    by_host = np.bincount(where, ranks + hosts)
    mine = int(where[one.guilty])
    return float(ranks[one.guilty] + hosts[where == mine].sum()), int(np.argmax(by_host)) == mine


def score(known: Sequence[Example], likelihoods: Mapping[str, float]) -> float:
    """Mean log-probability of the ranks that stopped; each origin weighs the root of its examples."""
    many = Counter(one.origin for one in known)
    weights = np.array([many[one.origin] ** -0.5 for one in known])
    logs = np.log([max(chance_of(one, likelihoods)[0], LEAST) for one in known])
    return float(np.average(logs, weights=weights))


def fitted(known: Sequence[Example], start: Mapping[str, float] = PRESENT) -> dict[str, float]:
    """Likelihoods with the best score, found by coordinate search."""
    best = dict(start)
    for _ in range(ROUNDS):
        for name in best:
            tried = sorted({float(np.clip(best[name] * factor, LEAST, MOST)) for factor in FACTORS})
            scores = [score(known, best | {name: value}) for value in tried]
            best[name] = best[name] if max(scores) <= score(known, best) else tried[int(np.argmax(scores))]
    return best


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    known = list(examples(parser.parse_args(arguments).folders))
    if not known:
        print("no recorded hang shows a stop", file=sys.stderr)
        return 1
    best = fitted(known)
    for name, value in PRESENT.items():
        print(f"{name:8} {value:7.3f} {best[name]:7.3f}")
    print(f"{'score':8} {score(known, PRESENT):7.3f} {score(known, best):7.3f}")
    for origin, many in sorted(Counter(one.origin for one in known).items()):
        right = sum(chance_of(one, best)[1] for one in known if one.origin == origin)
        print(f"{origin:8} {many:7} {right / many:7.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
