"""Compute how well one family of communicators fits a kind, independent of the rest of the job. Log-likelihoods up to a
constant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism.evidence.families import Family
from prism.evidence.host_lockstep import Lockstep
from prism.layout import constants as c
from prism.layout.constants import Kind


def fit(kind: Kind, family: Family) -> float:
    """Log-likelihood of form, alternation and rhythm of a family, if it is of a kind."""
    return _form(kind, family) + _turns(kind, family) + _rhythm(kind, family)


def _median(family: Family, name: str) -> float:
    return float(np.median([getattr(one, name) for one in family]))


def _form(kind: Kind, family: Family) -> float:
    out = float(np.mean([np.log(c.FORMS[kind].get(one.form, c.UNLIKELY)) for one in family]))
    if not family[0].bursts:
        varies = c.VARYING.get(kind, c.VARYING_OTHERS)
        fixed = 2 * sum(one.equal for one in family) > len(family)
        out += np.log(1 - varies if fixed else varies)
    if kind != "pp" and family[0].form == "two path":
        out -= max(
            float(np.median([len(one.members) for one in family])) - 3, 0
        )  # a long chain is rarely an exchange by chance
    return out


def _turns(kind: Kind, family: Family) -> float:
    first = family[0]
    if first.way == "one":
        return 0.0
    overlap = _median(family, "overlap")
    others = c.IN_TURN_PAIRS if first.shape in ("pair", "path", "cube") else c.IN_TURN_OTHERS
    in_turn = c.IN_TURN.get(kind, others)
    out = np.log(
        in_turn * 7 * (1 - overlap) ** 6 + (1 - in_turn) * 3 * overlap**2 + c.ANY_OVERLAP
    )  # densities over the overlap
    ahead = c.AHEAD_TREES if kind != "pp" and first.shape == "tree" else c.AHEAD.get(kind, c.AHEAD_OTHERS)
    leads = 1 / (1 + (c.AHEAD_LEAST / max(_median(family, "lead"), c.FINEST)) ** c.AHEAD_SHARP)
    return float(out + np.log(ahead * leads + (1 - ahead) * (1 - leads)))


def _rhythm(kind: Kind, family: Family) -> float:
    """Log-likelihood of the rhythm. Tensor, context and expert traffic is frequent and spreads over the step."""
    runs = max(float(np.median([one.rhythm.runs for one in family])), c.LEAST_RUNS)
    spread = float(np.median([one.rhythm.spread for one in family]))
    density = sum(w / sd * np.exp(-0.5 * (np.log(runs / middle) / sd) ** 2) for w, middle, sd in c.RUNS[kind])
    is_wide = 1 / (1 + np.exp(-(spread - c.WIDE_SPREAD) / c.WIDE_SOFT))
    spreads = c.WIDE[kind] * is_wide + (1 - c.WIDE[kind]) * (1 - is_wide)
    return float(np.log(density + c.ANY_RUNS) + np.log(spreads))


def rounds_fit(family: Family, ranks: int) -> float:
    """Log-odds of a family's messages per step, if its rings have `ranks` ranks, hidden ones included.

    In an all-reduce a ring of n ranks moves n − 1 messages on each edge in each half. Some libraries move n, with the rank's
    own block.
    """
    if ranks < c.TRIANGLE:
        return 0.0
    total, out = family.counts.total(), 0.0
    for count, volume in family.counts.most_common(c.COUNTS_TRIED):
        expected = c.ROUNDS_RIGHT * (ranks - 1) * (count % (ranks - 1) == 0)
        chance = expected + c.ROUNDS_OWN * ranks * (count % ranks == 0) + c.ROUNDS_OTHER
        out += np.sqrt(volume / total) * np.log(chance)
    return float(np.clip(out, -c.LIMIT_AGAINST, c.LIMIT_FOR * np.log(ranks - 1)))


def lockstep_fit(axis: NDArray[np.int64], seen: Lockstep) -> NDArray[np.float64]:
    """Log-likelihood of the offset of each pair of members, if they differ in the coordinate `axis` of their host.

    `axis`: 1 tensor, 2 data, 3 pipeline. Densities are over decades of the share of a step.
    """
    offset = np.log10(np.maximum(seen.offset, c.FINEST))
    likely = np.stack([_normal(offset, *c.OFFSETS[k]) for k in (1, 2, 3)])[axis - 1, np.arange(len(axis))]
    return np.asarray(np.log((1 - c.OFFSET_ELSE) * likely + c.OFFSET_ELSE / -np.log10(c.FINEST)))


def _normal(x: NDArray[np.float64], middle: float, sigma: float) -> NDArray[np.float64]:
    return np.asarray(np.exp(-0.5 * ((x - middle) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi)))
