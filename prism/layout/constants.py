"""The numbers of this folder: how a family looks if it is of a kind. Natural logarithms of likelihoods, up to a factor.

They are judgements of how traffic of each kind looks and of common practice, not fits: a logistic regression on 500 families
of four origins found no more on two others than they do. `benchmarks/sensitivity.py` shows how far each can move.
"""

from __future__ import annotations

from typing import Literal

Kind = Literal["dp", "pp", "tp", "ep", "cp", "edp", "tied", "none"]
KINDS: tuple[Kind, ...] = ("dp", "pp", "tp", "ep", "cp", "edp", "tied")

DIMENSIONS: tuple[Kind, ...] = ("dp", "tp", "cp", "ep")  # whose groups may do several things

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
    "ep": {  # one of them, an exchange, is among a job's; what experts reduce or gather among themselves goes beside it
        "two clique": 1.0, "two pair": 0.3, "two other": 0.3, "two cycle": 0.05, "one cycle": 0.1, "one pair": 0.05,
        "one path": 0.05, "two cube": 0.1,
    },
    "tied": {"two pair": 1.0},
}  # fmt: skip
EXCHANGES = ("two clique", "two pair", "two other")  # forms of an exchange of all with all
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
    "edp": 0.25,
    "tied": 0.1,
}  # how usual such traffic is on the wire
ROUNDS_RIGHT, ROUNDS_OWN, ROUNDS_OTHER = 0.8, 0.12, 0.08  # n − 1 rounds; n, one's own block among them; any other number
UNEXPLAINED, UNEXPLAINED_SHARE = -4.0, -25.0  # for a family that serves no dimension; and by its share of the octets
BESIDE = -4.0  # what a dimension's group does beside what it is known by: scalars, embeddings, norms
TWO_USES = 2.0  # against two dimensions that divide the members in the same way
HELD_BY_MOST = 8.0  # families' kinds this much less likely than their best are not tried
BEAM = 128  # assignments of kinds to families that are kept
HIERARCHY, MORE_STAGES = 2.0, 3.0  # against a reduction in several stages (shards and replicas), and for each beyond two
# Members of one host that differ in a coordinate, by how far apart they send the same: log10 of shares of the step.
FINEST = 1e-5  # of a step; differences below it are those of clocks
OFFSET_OF_STAGES = (-1.2, 0.6)  # median and sigma: a micro-batch, of which a step has 4 to 100
OFFSET_OF_OTHERS = (-4.0, 1.0)  # what kernels and NICs differ by: 0.1 ms of a second
OFFSET_ELSE = 0.1  # share of pairs of which neither holds: a straggler moves its rail, an overlap hides a stage's offset
JITTER_OF_PEERS = 0.5  # sigma of the jitter of members of one collective, over that of peers in other hosts
JITTER_SHARED = {2: 0.6, 1: 0.5, 3: 0.05}  # share of pairs that move in one collective, where data, tensor or stages differ
JITTER_RANGE = 4.0  # decades over which others' jitter lies
LOCKSTEP = 3.0  # how many pairs of members are independent of one another: the hosts of a job repeat what one shows
CLOSED = 0.05  # imbalance of a family below which all that enters leaves
PIPELINES = 2  # families of hand-overs that a job has at most: activations and gradients of unequal size

# Log-likelihoods against what a layout of one kind of ranks does not show. A share of members or octets scales the first three.
UNEVEN = 12.0  # members in groups of another size than most, or in two groups with the same other member
OUT_OF_PLACE = 15.0  # octets between members that a host's cut puts in different places
OTHER_PRODUCT = 6.0  # times |ln(product of the dimensions / members)|; e^-6: one in 400
NO_GRID = 3.0  # besides: that the product is another at all; that an inner dimension is the whole plane
NOT_NESTED = 8.0  # an inner dimension that does not divide the plane; two pipelines that close circles
SPANS_LESS = 10.0  # gradients that are not reduced over the whole plane
PARTLY = 4.0  # a part of the plane reduces by itself besides what the whole plane reduces: that rather serves another dimension
SEPARATELY = 2.5  # gradients that replicas of an inner dimension reduce apart from it
CONTEXT_ALONE, NEVER_REDUCED = 4.0, 6.0  # context parallel without a reduction of its own; experts that are nowhere reduced
# Priors: how much less usual a layout is. Judgements of common practice, to be fitted.
DIRECT_TWICE = 1.5  # in favour: who gathers directly also reduces so
TWINS_DIFFER, TWINS_NEAR, TWINS_FAR = (
    5.0,
    0.01,
    0.04,
)  # tensor twins' octets of gradients; shares that are chance, that count in full
OTHER_ALGORITHM = 2.5  # a library that reduces in rings here and all with all there; an exchange of experts is no reduction
HALVING = (
    0.5  # in favour of levels inside hosts: MPI and gloo halve over all ranks; tensor parallel jobs mostly run on NCCL's rings
)
STAGES_IN_HOST, PART_OF_HOST, ODD_TENSOR = 2.0, 0.5, 3.0  # stages inside hosts; tensor over a part of one; over no power of two
IRREGULAR = 2.0  # groups that lie across hosts so that hosts are not all cut alike
NO_TENSOR = 1.0  # a pipeline of ranks that share hosts, without tensor parallel: practice puts that inside hosts first
ALONG_AXES = 0.9  # share of the octets that move along an axis of such a placing; the rest is reduced over several
SILENT, SILENT_UNASKED, IDLE = 0.3, 2.0, 0.7  # members that say nothing; where no ring asks for them; left out though there
NOT_OPEN = 0.01  # share of the octets in open rings below which none asks for silent members
TENSOR_ACROSS, WIDE_TENSOR, USUAL_HOST = 1.0, 2.0, 8  # tensor between hosts; over more ranks than a host usually has
NO_REPLICAS, ONLY_STAGES, DEEP, USUAL_STAGES = 3.0, 1.0, 1.5, 8  # dp 1; nothing but stages; each doubling beyond so many stages
SURE_OF_REPLICAS = 5  # doublings of the ranks from which on a job without replicas is that unusual: 32
MORE_WAYS = 1.5  # rings through a host where one would do: rails of their own are rather tensor parallel
IN_LEVELS = 2.0  # against it: first inside hosts, then between them; in practice sharding in a host, replicas across

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
# Odds for what `prism.parallelism` infers by other means: those that make the truth likeliest in 226 jobs of RDMA (3 to 10) and
# 84 of TCP (50 to 150), from five simulators and real runs. It tells conversations of TCP apart by their ports.
AGREES, AGREES_IN_BURSTS, AGREES_INSIDE = 3.0, 100.0, 3.0
MOST_LAYOUTS, MOST_ALTERNATIVES, LEAST_SAID = 50, 3, 0.01  # ranked; said beside the first; probability below which none is said
