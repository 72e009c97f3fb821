"""Fit the weights of the layout hypotheses (`prism.layout.constants.WEIGHTS`) to captures of several origins.

    python -m benchmarks.calibration [ORIGIN=]DIR... [--grid SEED:COUNT]... [--penalty NUMBER]

A capture is a folder as `benchmarks.accuracy` reads it; its origin is that of `benchmarks.origins`, or the one given. Each job,
of its true members, gives a table: its likeliest hypotheses, their features, and which have the true layout. The weights make
the true layouts likeliest (conditional logit). A weight keeps its sign; `penalty` times the square of the logarithm of its size
keeps it near 1. So the fit depends on the present weights only by the hypotheses that the search leaves out. With 0.7, of 323
answers at 0.9 or more 318 are right. The weights of `GIVEN` are not fitted: most contradict a layout, and mixed traffic would
weaken them. An origin counts as the root of its number of jobs, so that none decides alone. A weight of "fit" below 1 says that
families of a job are not independent.

Rows: with the present weights, with the fitted ones, and with those fitted to all other origins (`without`); the last
column is the mean log-probability of the true layout. What is said with 0.9 or more should be right in nine of ten.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.true_jobs import Case, asked_cases, evidence, nothing_found
from prism.layout.answer.posterior import STRUCTURE
from prism.layout.constants import WEIGHTS
from prism.layout.search.complete_layout import Hypothesis
from prism.layout.search.hypotheses import hypotheses

Floats = NDArray[np.float64]
NAMES = tuple(name for name in WEIGHTS if name != "hints")
PRESENT: Floats = np.array([WEIGHTS[name] for name in NAMES])
# Weights that are chosen. How often a simulator reduces by all rails is its author's choice.
GIVEN = (*STRUCTURE, "other_data", "in_levels")
FITTED = np.array([name not in GIVEN for name in NAMES])
MOST = 400  # most likely hypotheses per job; the others change no probability
EXPANDED = 60  # of these, hypotheses expanded by hidden ranks of hosts
NEVER = 1e-6  # minimum probability of a true layout, for jobs without a true hypothesis
SURE, SAID = 0.9, 4  # confidence to count; layouts in a report, with alternatives
COLUMNS = ("jobs", "exact", f"in {SAID}", f"≥ {SURE}", "right", "log p")


class Table(NamedTuple):
    """One job: `features` of its hypotheses, float64[hypotheses, names]; the layout number of each; and the true ones."""

    origin: str
    features: Floats
    layout: NDArray[np.int64]
    right: NDArray[np.bool_]


def table(case: Case) -> Table | None:
    """List the hypotheses of a job; None without any."""
    problem = evidence(case)
    if problem is None:
        return None
    found = sorted(hypotheses(problem), key=lambda one: -one.score)[:MOST]
    found += [other for one in found[:EXPANDED] for other in one.hidden(problem)]
    best: dict[tuple[object, ...], Hypothesis] = {}
    for one in sorted(found, key=lambda one: -one.score):
        best.setdefault((*one.layout.items(), one.groups), one)
    if not best:
        return None
    number = {key: i for i, key in enumerate(dict.fromkeys(tuple(one.layout.items()) for one in best.values()))}
    return Table(
        case.origin,
        np.array([[one.features.get(name, 0.0) for name in NAMES] for one in best.values()]),
        np.array([number[tuple(one.layout.items())] for one in best.values()]),
        np.array([all(one.layout.get(kind, 1) == size for kind, size in case.layout.items()) for one in best.values()]),
    )


def fitted(jobs: Sequence[Table], penalty: float) -> Floats:
    """Fit the weights that maximise the probability of the true layouts."""
    known = [job for job in jobs if job.right.any()]
    number = Counter(job.origin for job in known)
    usual = np.where(FITTED, np.sign(PRESENT), PRESENT)

    def loss(x: Floats) -> tuple[float, Floats]:
        weights = usual * np.exp(x)
        value, slope = penalty * float(x @ x), 2 * penalty * x
        for job in known:
            share = _shares(job.features @ weights)
            true = share * job.right
            sum_true = float(true.sum()) + NEVER
            counts = number[job.origin] ** -0.5
            value -= counts * np.log(sum_true)
            slope = slope + counts * ((share - true / sum_true) @ job.features) * weights
        return value, np.where(FITTED, slope, 0.0)

    return np.asarray(usual * np.exp(minimize(loss, np.zeros(len(NAMES)), jac=True, method="L-BFGS-B").x))


def _shares(scores: Floats) -> Floats:
    odds = np.exp(scores - scores.max())
    return np.asarray(odds / odds.sum())


def row(jobs: Sequence[Table], weights: Floats) -> tuple[float, ...]:
    """Compute the figures of `COLUMNS` for jobs."""
    exact, said, sure, sure_right = 0, 0, 0, 0
    logs = []
    for job in jobs:
        share = np.bincount(job.layout, _shares(job.features @ weights))
        right = np.bincount(job.layout, job.right) > 0
        order = np.argsort(-share)
        exact += bool(right[order[0]])
        said += bool(right[order[:SAID]].any())
        sure += bool(share[order[0]] >= SURE)
        sure_right += bool(share[order[0]] >= SURE and right[order[0]])
        logs.append(np.log(share[right].sum() + NEVER))
    return len(jobs), exact / len(jobs), said / len(jobs), sure, sure_right, float(np.mean(logs))


def lines(jobs: Sequence[Table], penalty: float) -> Iterator[str]:
    """Format the table by origin, then the fitted weights."""
    every = list(dict.fromkeys(job.origin for job in jobs))
    width = max(map(len, ("origin", *every))) + 2
    whole = fitted(jobs, penalty)
    yield f"{'origin':{width}}{'weights':10}" + "".join(f"{name:>8}" for name in COLUMNS)
    for origin in every:
        own, others = ([job for job in jobs if (job.origin == origin) is wanted] for wanted in (True, False))
        sets = {"present": PRESENT, "fitted": whole} | ({"without": fitted(others, penalty)} if others else {})
        for name, weights in sets.items():
            figures = row(own, weights)
            yield f"{origin:{width}}{name:10}" + "".join(f"{_cell(value):>8}" for value in figures)
    yield ""
    yield from (f"{name:20}{now:>8.2f} → {then:.2f}" for name, now, then in zip(NAMES, PRESENT, whole, strict=True))


def _cell(value: float) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables; return 2 without input."""
    asked, cases = asked_cases("calibration", __doc__ or "", argv, penalty=0.7)
    jobs = [job for job in map(table, cases) if job is not None]
    if not jobs:
        return nothing_found()
    for text in lines(jobs, asked.penalty):
        print(text, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
