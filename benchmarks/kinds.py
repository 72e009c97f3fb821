"""Fit the table that tells the kind of a family of communicators (`prism.layout.constants.KIND_SCORES`).

    python -m benchmarks.kinds DIR... [--grid SEED:COUNT]... [--penalty NUMBER]

A capture is a folder as `benchmarks.accuracy` reads it; its origin is that of `benchmarks.origins`. `--grid` adds small
clusters of the own simulator. A family whose octets move inside the true groups of one kind is an example, in the whole
recording and in a part of it. Context groups lie inside data groups: there the block of context that some truths record tells
the kind, of which messages are a multiple. Without one, a family inside context groups is context.

Multinomial logistic regression: each origin counts as the root of its number of families, so that none decides alone. `penalty`
times the squares of the coefficients keeps them small, those of numbers per standard deviation, those of forms as they are: a
form with few examples says little. Kinds count alike: how often each occurs in the captures is taken out of the table.

Rows: by origin, the share of its families whose kind is right and the mean log-probability of the right kind, with the present
table, the fitted one, and one fitted to all other origins (`without`). Then the fitted table, with the number of examples of
each form, and the weight of two families that move as much as shards and their replicas (`size_ratios.shards`): how much more
often those of sharded jobs do so than those of others, as a logarithm.

The present table was fitted to six draws of SMPI, five of NCCL's channels as one origin, 81 real runs of MPI libraries, gloo
and JAX, the captures `foreign`, `lab`, `flows`, `roce`, `pcaps`, and `--grid 5003:80`: mean log-probability by origin -0.232,
or -0.526 if each origin is left out of its fit. The table before, fitted to older ones of these, had -0.370.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.true_jobs import Case, asked_cases, evidence, nothing_found, part, places
from prism.evidence.families import Family
from prism.layout.constants import FEW_OCTETS, KIND_SCORES, NEVER, SCORED, Kind
from prism.layout.features.likelihood import traits
from prism.layout.features.size_ratios import shards
from prism.layout.search.problem import Problem

Floats = NDArray[np.float64]
NAMES = tuple(KIND_SCORES)
PRESENT: Floats = np.array([KIND_SCORES[name] for name in NAMES])
IS_FORM = np.array([name.partition(" ")[0] in ("one", "two") for name in NAMES])
BLOCKS, ROUNDING = 8, 0.004  # blocks of context in a message at most; relative rounding of a block
FEW_BLOCKS = 0.1  # share of messages that are multiples of a block by chance
INSIDE = 0.9  # share of a family's octets inside the groups of a kind
FEW_MESSAGES = 3  # per step; the ends of a pipeline exchange the gradients of tied embeddings that seldom
OVERLAPPED = 0.9  # … in both directions at once
SCALE = 10.0  # weight of an origin's first example, beside a penalty of about 1


class Example(NamedTuple):
    """A family of known kind: its traits in order of `NAMES`, and the place of its kind in `SCORED`."""

    origin: str
    traits: Floats
    kind: int


def kind_of(family: Family, group_of: Mapping[str, Mapping[int, int]], block: float = 0) -> Kind | None:
    """Return the kind of a family, or None if several are possible.

    `group_of`: the number of each member's group by kind. `block`: octets of a block of context, 0 if unknown.
    """
    share = {
        kind: sum(octets for (u, v), octets in family.edges.items() if own.get(u, -1) == own.get(v, -2)) / family.octets
        for kind, own in group_of.items()
    }
    inside = {kind for kind, part in share.items() if part > INSIDE}
    if "tp" in inside:
        return "tp"
    if "pp" in inside:
        both = np.median([one.overlap for one in family]) > OVERLAPPED and family.rhythm.messages <= FEW_MESSAGES
        return "tied" if both else "pp"
    if "ep" in inside and (not family[0].equal or "dp" not in inside):
        return "ep"
    if "cp" in inside and "dp" not in inside:
        return "cp"
    if block and "cp" in inside and family[0].equal:
        ratios = np.array([stream.size / block for one in family for stream in one.streams])
        blocks = np.round(ratios)
        whole = float(np.mean((np.abs(ratios - blocks) < ROUNDING * ratios) & (blocks >= 1) & (blocks <= BLOCKS)))
        return "cp" if whole > 1 / 2 else "dp" if whole < FEW_BLOCKS and "ep" not in inside else None
    if "cp" in inside and not block and "ep" not in inside:
        member = next(iter(family[0].members))
        plane, context = (list(own.values()).count(own[member]) for own in (group_of["dp"], group_of["cp"]))
        return "cp" if plane > context else None  # gradients are reduced over the plane, never over context alone
    return "dp" if "dp" in inside and not inside & {"ep", "cp"} else None


def block_of(job: Mapping[str, Any]) -> float:
    """Octets of a block of context that a simulator recorded; 0 if none did. An all-to-all cuts it into one per member."""
    run = _arguments(job)
    return float(run.get("cpb", 0)) / (int(run["cp"]) if run.get("cpk") == "a2a" else 1)


def is_sharded(job: Mapping[str, Any]) -> bool:
    """Whether some ranks of a job share one copy of the model, of which it has several."""
    return 1 < int(job.get("shard") or _arguments(job).get("shard") or 1) < int(job["layout"].get("dp", 1))


def _arguments(job: Mapping[str, Any]) -> Mapping[str, Any]:
    arguments: Mapping[str, Any] = job.get("info", {}).get("args", {})
    return arguments


class Examples(NamedTuple):
    """What jobs show: families of known kind, and by whether a job is sharded, which pairs of its families look like that."""

    families: list[Example]
    pairs: dict[bool, list[bool]]

    def add(self, case: Case, problem: Problem) -> None:
        """Add the families of known kind of a job, and the pair of its families if it has two."""
        rank = places(problem, case.job)
        group_of = {
            kind: {rank[r]: i for i, own in enumerate(groups) for r in own if r in rank}
            for kind, groups in case.job["groups"].items()
        }
        for family in problem.families:
            kind = kind_of(family, group_of, block_of(case.job))
            if kind is not None:
                seen = traits(family, family.octets / problem.octets, problem.handed_runs(family))
                values = np.array([seen.get(name, 0.0) for name in NAMES])
                self.families.append(Example(case.origin, values, SCORED.index(kind)))
        large = [family for family in problem.families if family.octets > FEW_OCTETS * problem.octets]
        if len(large) == 2:
            sizes = [max(len(one.members) for one in family) for family in large]
            both = ((0, 1), (1, 0))
            found = any(shards([large[i]], [large[k]], (sizes[i], sizes[k]), problem.hosts) for i, k in both)
            self.pairs[is_sharded(case.job)].append(found)


def examples(cases: Iterable[Case]) -> Examples:
    """Collect the examples of jobs, and of parts of their recordings."""
    out = Examples([], {True: [], False: []})
    for case in cases:
        problem = evidence(case)
        if problem is not None:
            out.add(case, problem)
            some = part(case, problem)
            less = None if some is None else evidence(some)
            if less is not None:
                out.add(case, less)
    return out


def fitted(known: Sequence[Example], penalty: float) -> Floats:
    """Fit the table; float64[names, kinds]. Each row has mean 0. Kinds count alike, however frequent they are."""
    seen = np.array([one.traits for one in known])
    true = np.array([one.kind for one in known])
    number = Counter(one.origin for one in known)
    counts = np.array([SCALE * number[one.origin] ** -0.5 for one in known])
    always = NAMES.index("always")
    middle, deviation = seen.mean(axis=0), np.where(IS_FORM, 1.0, seen.std(axis=0) + 1e-9)
    middle[always], deviation[always] = 0.0, 1.0
    standard = (seen - middle) / deviation
    at = np.arange(len(true))

    def loss(x: Floats) -> tuple[float, Floats]:
        table = x.reshape(len(NAMES), len(SCORED))
        share = _shares(_possible(standard @ table, seen))
        value = float(-(counts * np.log(share[at, true] + 1e-12)).sum() + penalty / 2 * x @ x)
        share[at, true] -= 1
        return value, (standard.T @ (share * counts[:, None]) + penalty * table).ravel()

    found = minimize(loss, np.zeros(len(NAMES) * len(SCORED)), jac=True, method="L-BFGS-B").x
    table = found.reshape(len(NAMES), len(SCORED)) / deviation[:, None]
    table[always] -= middle @ table + _frequencies(known)
    return np.asarray(table - table.mean(axis=1, keepdims=True))


def _possible(scores: Floats, seen: Floats) -> Floats:
    """Return the scores; only pairs exchange the gradients of tied embeddings."""
    kinds = np.arange(len(SCORED)) == SCORED.index("tied")
    return np.where((seen[:, [NAMES.index("two pair")]] == 0) & kinds, NEVER, scores)


def _shares(scores: Floats) -> Floats:
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _frequencies(known: Sequence[Example]) -> Floats:
    """Logarithm of the share of each kind among the examples, each origin counting as the root of its number; 0 if none is."""
    number = Counter(one.origin for one in known)
    counts = [number[one.origin] ** -0.5 for one in known]
    share = np.bincount([one.kind for one in known], counts, len(SCORED)) / sum(counts)
    return np.asarray(np.log(np.where(share, share, 1)))


def row(known: Sequence[Example], table: Floats, frequencies: Floats) -> tuple[float, float]:
    """Return the share of families whose kind is right, and the mean log-probability of the right kind."""
    seen = np.array([one.traits for one in known])
    share = _shares(_possible(seen @ table + frequencies, seen))
    true = np.array([one.kind for one in known])
    return float((share.argmax(axis=1) == true).mean()), float(np.log(share[np.arange(len(true)), true] + 1e-12).mean())


def lines(known: Sequence[Example], pairs: Mapping[bool, Sequence[bool]], penalty: float) -> Iterator[str]:
    """Format the rows by origin, then the fitted table, then the weight of pairs that move as shards and replicas do."""
    every = list(dict.fromkeys(one.origin for one in known))
    width = max(map(len, ("origin", *every))) + 2
    whole, frequencies = fitted(known, penalty), _frequencies(known)
    yield f"{'origin':{width}}{'table':10}{'families':>10}{'right':>8}{'log p':>8}"
    for origin in every:
        own, others = ([one for one in known if (one.origin == origin) is wanted] for wanted in (True, False))
        tables = {"present": PRESENT, "fitted": whole} | ({"without": fitted(others, penalty)} if others else {})
        for name, table in tables.items():
            right, log = row(own, table, frequencies)
            yield f"{origin:{width}}{name:10}{len(own):>10}{right:>8.3f}{log:>8.3f}"
    yield ""
    examples = np.array([one.traits for one in known])
    for name, values, seen in zip(NAMES, whole, examples.T, strict=True):
        number = f"  # {np.count_nonzero(seen)}" if IS_FORM[NAMES.index(name)] else ""
        yield f'    "{name}": ({", ".join(f"{x:.2f}" for x in values)}),{number}'
    shown, chance = ((sum(pairs[own]) + 1) / (len(pairs[own]) + 2) for own in (True, False))
    yield f"sharded: {np.log(shown / chance):.2f} ({len(pairs[True])} pairs of shards and replicas, {len(pairs[False])} others)"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables; return 2 without input."""
    asked, cases = asked_cases("kinds", __doc__ or "", argv, penalty=1.0)
    known, pairs = examples(cases)
    if not known:
        return nothing_found()
    for text in lines(known, pairs, asked.penalty):
        print(text, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
