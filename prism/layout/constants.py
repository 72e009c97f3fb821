"""The numbers of this folder: how a family looks if it is of a kind. Natural logarithms of likelihoods, up to a factor.

They are judgements that a fit replaces where data allow; `WEIGHTS` scale them (see `benchmarks/fit_layout.py`).
"""

from __future__ import annotations

from typing import Literal

Kind = Literal["dp", "pp", "tp", "ep", "cp", "edp", "tied", "none"]
KINDS: tuple[Kind, ...] = ("dp", "pp", "tp", "ep", "cp", "edp", "tied")

_COLLECTIVE = {  # how likely a ring, a tree or halving looks so on the wire
    "one cycle": 1.0, "one path": 0.5, "one pair": 0.5, "one other": 0.4, "one tree": 0.2, "two cycle": 0.5, "two pair": 1.0,
    "two path": 0.05, "two clique": 0.2, "two other": 0.2, "two tree": 0.1, "two cube": 1.0,
}  # fmt: skip
FORMS: dict[Kind, dict[str, float]] = {
    "dp": _COLLECTIVE, "edp": _COLLECTIVE, "tp": _COLLECTIVE, "cp": _COLLECTIVE,
    "pp": {
        "two pair": 1.0, "two path": 1.0, "two cycle": 0.1, "two other": 0.02, "two tree": 0.02, "two clique": 0.02,
        "one path": 0.003, "one pair": 0.003,
    },
    "ep": {"two clique": 1.0, "two pair": 0.3, "two other": 0.3, "two cycle": 0.02},
    "tied": {"two pair": 1.0},
}  # fmt: skip
UNLIKELY = 3e-4  # of a form that is not named
VARYING = {"ep": 0.85}  # probability that messages vary in size; of other kinds:
VARYING_OTHERS = 0.05
IN_TURN = {"pp": 0.97, "ep": 0.5}  # probability that the directions of a pair move in turn; of others:
IN_TURN_PAIRS, IN_TURN_OTHERS = 0.05, 0.4  # where each pair exchanges; where blocks travel around
AHEAD = {"pp": 0.75}  # probability that one direction is ahead in the step; of others:
AHEAD_OTHERS = 0.08
AHEAD_LEAST = 0.015  # of a step
RUNS: dict[Kind, tuple[tuple[float, float, float], ...]] = {  # bursts in a step: log-normal mixtures (weight, median, sigma)
    "dp": ((0.7, 2.5, 0.9), (0.3, 20, 1.2)), "edp": ((0.7, 2.5, 0.9), (0.3, 20, 1.2)), "tp": ((1.0, 24, 1.2),),
    "cp": ((1.0, 24, 1.0),), "tied": ((1.0, 1.2, 0.7),), "ep": ((1.0, 20, 0.9),), "pp": ((1.0, 10, 1.0),),
}  # fmt: skip
WIDE = {"dp": 0.3, "edp": 0.3, "tp": 0.93, "cp": 0.9, "ep": 0.9, "pp": 0.6, "tied": 0.05}  # probability of being spread widely:
WIDE_SPREAD, WIDE_SOFT = 0.45, 0.08  # over this share of the step
USUAL = {
    "dp": 1.0,
    "pp": 1.0,
    "tp": 0.05,
    "cp": 0.1,
    "ep": 0.25,
    "edp": 0.1,
    "tied": 0.1,
}  # how usual such traffic is on the wire
ROUNDS_RIGHT, ROUNDS_OWN, ROUNDS_OTHER = 0.8, 0.12, 0.08  # n − 1 rounds; n, one's own block among them; any other number
UNEXPLAINED, UNEXPLAINED_SHARE = -4.0, -25.0  # for a family that serves no dimension; and by its share of the octets
HELD_BY_MOST = 8.0  # families' kinds this much less likely than their best are not tried
BEAM = 48  # assignments of kinds to families that are kept
HIERARCHY, MORE_STAGES = 2.0, 0.5  # against a reduction in several stages (shards and replicas), and for each beyond two
DRIFT, DRIFT_SOFT = 2.0, 0.3  # weight of lockstep in a host; spread of logarithms of drifts that is chance
CLOSED = 0.05  # imbalance of a family below which all that enters leaves
PIPELINES = 2  # families of hand-overs that a job has at most: activations and gradients of unequal size

# Log-likelihoods against what a layout of one kind of ranks does not show. A share of members or octets scales the first three.
UNEVEN = 12.0  # members in groups of another size than most, or in two groups with the same other member
OUT_OF_PLACE = 15.0  # octets between members that a host's cut puts in different places
OTHER_PRODUCT = 6.0  # times |ln(product of the dimensions / members)|; e^-6: one in 400
NO_GRID = 3.0  # besides: that the product is another at all; that an inner dimension is the whole plane
NOT_NESTED = 8.0  # an inner dimension that does not divide the plane; two pipelines that close circles
SPANS_LESS = 10.0  # gradients that are not reduced over the whole plane
CONTEXT_ALONE, NEVER_REDUCED = 2.0, 6.0  # context parallel without a reduction of its own; experts that are nowhere reduced
# Priors: how much less usual a layout is. Judgements of common practice, to be fitted.
DIRECT_TWICE = 1.5  # in favour: who gathers directly also reduces so
TWINS_DIFFER, TWINS_NEAR, TWINS_FAR = (
    5.0,
    0.01,
    0.04,
)  # tensor twins' octets of gradients; shares that are chance, that count in full
STAGES_IN_HOST, PART_OF_HOST, ODD_TENSOR = 2.0, 0.5, 3.0  # stages inside hosts; tensor over a part of one; over no power of two
SILENT, SILENT_UNASKED, IDLE = 0.3, 2.0, 0.7  # members that say nothing; where no ring asks for them; left out though there
NOT_OPEN = 0.01  # share of the octets in open rings below which none asks for silent members
TENSOR_ACROSS, WIDE_TENSOR, USUAL_HOST = 1.0, 2.0, 8  # tensor between hosts; over more ranks than a host usually has
NO_REPLICAS, ONLY_STAGES, DEEP, USUAL_STAGES = 3.0, 1.0, 1.5, 8  # dp 1; nothing but stages; each doubling beyond so many stages
MORE_WAYS = 1.5  # rings through a host where one would do: rails of their own are rather tensor parallel
WAYS_OF_RING, WAYS_OF_EXCHANGE = (1.2, 0.6), (0.7, 0.4)  # against it: at all, and for each doubling of the ways

# What is looked at.
MOST_MEMBERS, MOST_RECORDS = 512, 1 << 20  # ranks and records of a job; of more, counting takes too long between two windows
MOST_STREAMS, MOST_COMMUNICATORS = 1 << 14, 1 << 11  # 5,630 and some 600 in a job of 512 ranks; random pairs make more
MOST_FAMILIES = 6
WEIGHTY = 5e-4  # share of the octets below which a family says nothing: the loss is reduced over all dimensions
OPEN = 0.2  # imbalance of a one-way communicator that goes on inside hosts
PARTS_OF_LIFE, LEAST_PARTS, ONE_PART = 12, 3, 0.7  # a stream recurs in so many parts of the life, and has less than this in one

# What is said.
FIT_SOFT = 4.0  # log-likelihood of structure at which the best hypothesis explains the traffic with even odds
EVEN = 0.5  # that it explains the traffic; below, it explains too little to be believed
LIKELIER = 2.0  # times as probable as what was told, to be reported in its place
OTHER_ROUNDS = 2.0  # of log-likelihood, by which numbers of messages speak for other sizes of rings
MOST_LAYOUTS, MOST_ALTERNATIVES, LEAST_SAID = 50, 3, 0.01  # ranked; said beside the first; probability below which none is said
