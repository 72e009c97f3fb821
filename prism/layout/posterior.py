"""From hypotheses to probabilities: what is reported, how sure, and which layouts the traffic cannot exclude."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from prism.layout import constants as c
from prism.layout.hypotheses import hypotheses
from prism.layout.problem import Problem
from prism.layout.scoring import Hypothesis

STRUCTURE = ("even", "grid", "places", "passes", "nested")


class Answer(NamedTuple):
    """A layout, with the best hypothesis of it and its probability, given that traffic is explained by one of them."""

    probability: float
    best: Hypothesis
    explains: float  # 0 … 1: whether the structure of the traffic is what the hypothesis says


def answers(problem: Problem, prior: Callable[[Mapping[str, int]], float] | None = None) -> list[Answer]:
    """Layouts, the most probable first. Hypotheses of one layout and one set of members are one answer.

    `prior` gives the log-odds that the operator's hints add for a layout.
    """
    best: dict[tuple[object, ...], Hypothesis] = {}
    for one in hypotheses(problem):
        if prior is not None:
            one = replace(one, terms={**one.terms, "hints": prior(one.layout)})
        key = (*one.layout.items(), one.groups, one.members)
        if key not in best or best[key].score < one.score:
            best[key] = one
    ranked = sorted(best.values(), key=lambda one: -one.score)[: c.MOST_LAYOUTS]
    if not ranked:
        return []
    odds = np.exp([one.score - ranked[0].score for one in ranked])
    merged: dict[tuple[object, ...], list[float]] = {}
    first: dict[tuple[object, ...], Hypothesis] = {}
    for one, weight in zip(ranked, (odds / odds.sum()).tolist(), strict=True):
        key = (*one.layout.items(), one.members)
        merged.setdefault(key, []).append(weight)
        first.setdefault(key, one)
    out = [Answer(sum(weights), first[key], _explains(first[key])) for key, weights in merged.items()]
    return sorted(out, key=lambda one: -one.probability)


def _explains(one: Hypothesis) -> float:
    structure = sum(one.terms[name] for name in STRUCTURE)
    unused = sum(family.octets for family, kind in zip(one.families, one.kinds, strict=True) if kind == "none")
    structure += c.UNEXPLAINED_SHARE * unused / sum(family.octets for family in one.families)
    return float(1 / (1 + np.exp(-(structure + c.FIT_SOFT))))


def alternatives(found: Sequence[Answer]) -> Sequence[Answer]:
    """The layouts beside the first that the traffic cannot exclude."""
    return [one for one in found[1 : c.MOST_ALTERNATIVES + 1] if one.probability >= c.LEAST_SAID]
