"""Compute probabilities of layouts from hypotheses, and the alternatives that the traffic cannot exclude."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from prism.layout import constants as c
from prism.layout.search.complete_layout import Hypothesis
from prism.layout.search.hypotheses import hypotheses
from prism.layout.search.problem import Problem

STRUCTURE = (
    "uneven", "product", "misplaced", "not_nested", "unreduced", "unjoined",
)  # fmt: skip


class Answer(NamedTuple):
    """A layout, its best hypothesis, and its probability, given that one of the hypotheses explains the traffic."""

    probability: float
    best: Hypothesis
    explains: float  # 0 … 1: probability that the structure of the traffic fits the hypothesis


def answers(problem: Problem, prior: Callable[[Mapping[str, int]], float] | None = None) -> list[Answer]:
    """Rank layouts by probability. Hypotheses with the same layout are merged into one answer.

    Parameters
    ----------
    problem : Problem
        Evidence of one job.
    prior : callable, optional
        Log-odds that the operator's hints add for a layout (sizes by dimension).

    Returns
    -------
    list of Answer
        The most probable first; empty if no hypothesis is complete. Probabilities sum to 1, less those of layouts whose
        dimensions do not multiply to the members: these are left out.
    """

    def hinted(one: Hypothesis) -> Hypothesis:
        return one if prior is None else replace(one, features={**one.features, "hints": prior(one.layout)})

    hopeless = c.HOPELESS if prior is None else np.inf
    seen = _best(map(hinted, hypotheses(problem, hopeless)), by_placing=True)[: c.MOST_LAYOUTS]
    ranked = _best([*seen, *(hinted(other) for one in seen for other in one.hidden(problem))])
    if not ranked:
        return []
    odds = np.exp([one.score - ranked[0].score for one in ranked])
    merged: dict[tuple[object, ...], list[float]] = {}
    first: dict[tuple[object, ...], Hypothesis] = {}
    for one, weight in zip(ranked, (odds / odds.sum()).tolist(), strict=True):
        key = tuple(one.layout.items())
        merged.setdefault(key, []).append(weight)
        first.setdefault(key, one)
    out = [Answer(sum(weights), first[key], _explains(first[key])) for key, weights in merged.items() if _is_whole(first[key])]
    return sorted(out, key=lambda one: -one.probability * one.explains)


def _best(every: Iterable[Hypothesis], by_placing: bool = False) -> list[Hypothesis]:
    """Keep the best hypothesis of each layout with its groups, the likeliest first.

    `by_placing`: ranks that follow the hosts, in which other ranks may be hidden, are kept beside ranks that do not.
    """
    best: dict[tuple[object, ...], tuple[float, Hypothesis]] = {}
    for one in every:
        placed = by_placing and max(one.cut) > 1
        key, score = (*one.layout.items(), one.groups, placed), one.score
        if key not in best or best[key][0] < score:
            best[key] = score, one
    return [one for _, one in sorted(best.values(), key=lambda own: -own[0])]


def _explains(one: Hypothesis) -> float:
    structure = sum(c.WEIGHTS[name] * one.features.get(name, 0.0) for name in STRUCTURE)
    unused = sum(family.octets for family, kind in zip(one.families, one.kinds, strict=True) if kind == "none")
    structure += c.UNFORESEEN_SHARE * one.features.get("unforeseen", 0.0) / len(one.families)
    structure += c.UNEXPLAINED_SHARE * unused / sum(family.octets for family in one.families)
    return float(1 / (1 + np.exp(-(structure + c.FIT_SOFT))))


def alternatives(found: Sequence[Answer]) -> Sequence[Answer]:
    """Return the other layouts that the traffic cannot exclude, the likeliest first."""
    return [one for one in found[1:] if one.probability >= c.LEAST_SAID][: c.MOST_ALTERNATIVES]


def _is_whole(one: Hypothesis) -> bool:
    """Check whether the dimensions multiply to the members. Experts divide the data-parallel ranks, or multiply them."""
    ranks = one.layout["dp"] * one.layout["pp"] * one.layout["tp"] * one.layout["cp"]
    return len(one.placing.hosts) in (ranks, ranks * one.layout["ep"])
