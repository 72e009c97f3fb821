"""Compute how well one family of communicators fits a kind, independent of the rest of the job. Log-likelihoods up to a
constant.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log

import numpy as np
from numpy.typing import NDArray

from prism.evidence.families import Family
from prism.evidence.host_lockstep import Lockstep
from prism.layout import constants as c
from prism.layout.constants import KINDS, Kind

Floats = NDArray[np.float64]
USED: frozenset[Kind] = frozenset((*c.INNER, "edp"))


def usual(kinds: Iterable[Kind]) -> float:
    """Log-prior of layouts in which some traffic serves each of the kinds."""
    return c.WEIGHTS["uses"] * len(USED & set(kinds))


def fit(family: Family, share: float, handed: float = 0.0) -> dict[Kind, float]:
    """Log-probability of each kind from form, alternation, rhythm and `share` of the job's octets of a family.

    `handed`: runs per step of what other families hand over; 0 if none does.
    """
    seen = traits(family, share, handed)
    values = np.array([seen.get(name, 0.0) for name in c.KIND_SCORES])
    scores = (np.array(list(c.KIND_SCORES.values())) * values[:, None]).sum(axis=0)
    if family[0].form != "two pair":  # only first and last stages exchange the gradients of tied embeddings
        scores[c.SCORED.index("tied")] = c.NEVER
    scores -= np.log(np.exp(scores - scores.max()).sum()) + scores.max()
    out: dict[Kind, float] = dict(zip(c.SCORED, scores.tolist(), strict=True))
    return {kind: out.get(kind, out["dp"]) for kind in KINDS}  # experts' gradients move like others


def traits(family: Family, share: float, handed: float = 0.0) -> dict[str, float]:
    """Return what tells the kind of a family: the rows of `KIND_SCORES`. `handed` as in `fit`."""
    one = family[0]
    runs = float(np.log(max(family.rhythm.runs, c.LEAST_RUNS)))
    messages = float(np.log(max(family.rhythm.messages, c.LEAST_RUNS)))
    spread = family.rhythm.spread
    own = family.usual
    overlap = own["overlap"]
    leads = 1 / (1 + (c.AHEAD_LEAST / max(own["lead"], c.FINEST)) ** c.AHEAD_SHARP)
    leads = 1.0 if own["behind"] > c.BEHIND else leads
    both, members, few = one.way == "two", float(np.log(len(one.members))), float(np.log(c.FEW_MEMBERS))
    chain = one.form in ("two pair", "two path")  # as between the stages of a pipeline
    return {
        one.form: 1.0,
        "messages": messages,
        "messages per run²": (messages - runs) ** 2,
        "spread": spread,
        "overlap": both * overlap,
        "leads": both * leads,
        "chain leads": chain * leads,
        "chain overlap": chain * overlap,
        "chain members": chain * members,
        "chain leads members": chain * leads * members,
        "equal clique": float(one.equal and not one.bursts and one.form == "two clique"),
        "sizes": float(np.log(max(own["sizes"], 1.0))),
        "doubled": own["doubled"],
        "bursts": float(one.bursts),
        "share": float(np.log(share)),
        "little": float(share < c.LITTLE),
        "varies": min(family.rhythm.varies, 1.0),
        "members": min(members, few),
        "many members": max(members - few, 0.0),
        "beside hand-overs": float(handed > 0),
        "runs per hand-over": float(np.log(np.clip(np.exp(runs) / handed, *c.PER_HANDED))) if handed else 0.0,
        "always": 1.0,
    }


def lockstep_fit(relation: NDArray[np.int64], seen: Lockstep, dimensions: float) -> float:
    """Log-likelihood of the offsets of the pairs of members of one host: their mean, times the independent `dimensions`.

    `relation`: 1 tensor twins, 2 replicas, 3 different stages, 4 twins of replicas, 5 replicas that only their host joins (one
    reduction by several rails), 0 if they share no group. Densities are over decades. Pairs that start together count in
    `together_fit`.
    """
    offset, jitter = (np.log10(np.maximum(column, c.FINEST)) for column in (seen.offset, seen.jitter))
    ratio = np.maximum(jitter - offset, c.STEADIEST)
    even = np.log10(c.FINEST) ** -2
    varies = seen.jitter > c.FINEST  # less is an error of the clock, and tells nothing
    a, b, d, e = np.array([(0.0, 1.0, 0.0, 1.0), *c.OFFSETS.values()])[relation].T
    known = _normal(offset, a, b) * np.where(varies, _normal(ratio, d, e), -1 / np.log10(c.FINEST))
    apart = np.log((1 - c.OFFSET_ELSE) * np.where(relation > 0, known, even) + c.OFFSET_ELSE * even)
    return dimensions * float(np.where(seen.together < c.TOGETHER, apart, 0.0).mean())


def together_fit(relation: NDArray[np.int64], seen: Lockstep, uneven: bool, dimensions: float) -> float:
    """Log-likelihood of which members of one host start to reduce gradients at one instant: an operation inside the host joins
    them, in most jobs all pairs of a relation or none.

    `relation`: as in `lockstep_fit`, and 6 of replicas whose exchanges both sides begin at one instant. If steps are not
    `uneven`, all members may start together, only stages do not.
    """
    number, total = np.bincount(relation), 0.0
    bound = np.bincount(relation[seen.together >= c.TOGETHER], minlength=len(number))
    for own, (every, some) in enumerate(zip(number.tolist(), bound.tolist(), strict=True)):
        if every:
            jobs = c.BOUND.get(own, c.BOUND[c.STAGE]) if uneven or own in (0, c.STAGE) else c.BOUND_EVEN
            loose, tight = (some * log(share) + (every - some) * log(1 - share) for share in (c.NONE_BOUND, c.ALL_BOUND))
            part = dimensions / len(relation)
            total += float(np.logaddexp(log(1 - jobs) + part * loose, log(jobs) + part * tight))
    return total


def _normal(x: Floats, middle: Floats, sigma: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * ((x - middle) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi)))


def lasts(reducing: Iterable[Family]) -> bool:
    """Whether reductions take a large part of a step layer by layer, as those of shards do; one may on a slow network."""
    return any(family.rhythm.spread >= c.LONG and family.rhythm.runs >= c.LAYERS for family in reducing)


def rounds_fit(rounds: int, hops: int, members: int) -> float:
    """Log-odds by its `rounds` that a ring with so many `hops` on the wire goes on through hosts, to so many members.

    A ring of n sends a multiple of n − 1 messages over each hop, which others do by chance. Its members are those on the wire,
    or the whole group if hosts hide the other hops. Of `hops` below `TRIANGLE` it is known that it goes on. Fewer messages than
    hops are sums.
    """
    if rounds < max(hops - 1, 1) or members < c.TRIANGLE:
        return 0.0

    def counted(*sizes: int) -> float:
        fits = [(size - 1) * (rounds % (size - 1) == 0) for size in sizes]
        return 1 - c.COUNTED + c.COUNTED * sum(fits) / len(fits)

    seen = (hops,) if hops >= c.TRIANGLE else ()
    return float(np.log(counted(*seen, members) / (counted(*seen) if seen else 1.0)))
