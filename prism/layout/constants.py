"""The numbers of this folder: how a family looks if it is of a kind, and what each feature of a hypothesis weighs.

Natural logarithms of likelihoods, up to a factor. `WEIGHTS` are fitted by `python -m benchmarks.calibration` to 509 jobs of
eight origins; shares of families were counted in the same. `benchmarks/sensitivity.py` shows how far each number can move.
"""

from __future__ import annotations

from typing import Literal

Kind = Literal["dp", "pp", "tp", "ep", "cp", "edp", "tied", "none"]
KINDS: tuple[Kind, ...] = ("dp", "pp", "tp", "ep", "cp", "edp", "tied")

DIMENSIONS: tuple[Kind, ...] = ("dp", "tp", "cp", "ep")  # whose groups may do several things

# Numbers by kind are shares of 1,050 families of known kind, of eight origins, rounded; forms that were not seen got a few.
_COLLECTIVE = {  # how likely a ring, a tree or halving looks so on the wire
    "one cycle": 0.3, "one path": 0.05, "one pair": 0.1, "one other": 0.04, "one tree": 0.02, "two cycle": 0.03,
    "two pair": 0.24, "two path": 0.04, "two clique": 0.06, "two other": 0.03, "two tree": 0.02, "two cube": 0.12,
}  # fmt: skip
FORMS: dict[Kind, dict[str, float]] = {
    "dp": _COLLECTIVE, "edp": _COLLECTIVE, "tp": _COLLECTIVE, "cp": _COLLECTIVE,
    "pp": {
        "two pair": 0.6, "two path": 0.35, "two cycle": 0.02, "two other": 0.005, "two clique": 0.005, "one path": 0.001,
        "one pair": 0.003,
    },
    "ep": {  # one of them, an exchange, is among a job's; what experts reduce or gather among themselves goes beside it
        "two clique": 0.4, "two pair": 0.35, "two other": 0.05, "two path": 0.05, "two cycle": 0.02, "one cycle": 0.04,
        "one pair": 0.06, "one path": 0.02, "two cube": 0.03,
    },
    "tied": {"two pair": 1.0},
}  # fmt: skip
EXCHANGES = ("two clique", "two pair", "two other")  # forms of an exchange of all with all
UNLIKELY = 2e-4  # of a form that is not named
VARYING = {"ep": 0.6}  # probability that messages vary in size; of other kinds:
VARYING_OTHERS = 0.05
IN_TURN = {"pp": 0.97, "ep": 0.5}  # probability that the directions of a pair move in turn; of others:
IN_TURN_PAIRS, IN_TURN_OTHERS = 0.05, 0.4  # where each pair exchanges; where blocks travel around
AHEAD = {"pp": 0.97}  # probability that one direction is ahead in the step; of others; of trees, which reduce first:
AHEAD_OTHERS, AHEAD_TREES = 0.03, 0.4
AHEAD_LEAST, AHEAD_SHARP = 0.04, 3.0  # of a step, with even odds: 95 % of pipelines 0.03 and more, of exchanges 0.02 and less
RUNS: dict[Kind, tuple[tuple[float, float, float], ...]] = {  # bursts in a step: log-normal mixtures (weight, median, sigma)
    "dp": ((0.85, 2.4, 0.8), (0.15, 20, 1.0)), "edp": ((0.85, 1.2, 0.6), (0.15, 20, 1.0)), "tp": ((1.0, 20, 0.9),),
    "cp": ((1.0, 6, 0.9),), "tied": ((1.0, 1.2, 0.7),), "ep": ((1.0, 8, 0.75),), "pp": ((1.0, 5, 1.1),),
}  # fmt: skip
WIDE = {"dp": 0.15, "edp": 0.06, "tp": 0.9, "cp": 0.3, "ep": 0.5, "pp": 0.25, "tied": 0.05}  # share that is spread widely:
WIDE_SPREAD, WIDE_SOFT = 0.45, 0.08  # over this share of the step
ROUNDS_RIGHT, ROUNDS_OWN, ROUNDS_OTHER = 0.8, 0.12, 0.08  # n − 1 rounds; n, one's own block among them; any other number
UNEXPLAINED, UNEXPLAINED_SHARE = -4.0, -25.0  # for a family that serves no dimension; and by its share of the octets
BESIDE = -4.0  # what a dimension's group does beside what it is known by: scalars, embeddings, norms
TWO_USES = 2.0  # against two dimensions that divide the members in the same way
HELD_BY_MOST = 8.0  # families' kinds this much less likely than their best are not tried
BEAM = 128  # assignments of kinds to families that are kept
# Members of one host that differ in a coordinate, by how far apart they send the same: log10 of shares of the step.
FINEST = 1e-5  # of a step; differences below it are those of clocks
OFFSETS = {1: (-4.4, 1.0), 2: (-3.7, 1.2), 3: (-1.1, 0.45)}  # median and sigma; 1 tensor, 2 data, 3 stage
OFFSET_ELSE = 0.1  # share of pairs of which that does not hold: a straggler moves its rail, an overlap hides a stage's offset
CLOSED = 0.05  # imbalance of a family below which all that enters leaves
PIPELINES = 2  # families of hand-overs that a job has at most: activations and gradients of unequal size

# What each feature of a hypothesis adds to its log-likelihood, fitted. A share of members or octets scales the shares.
WEIGHTS = {
    "fit": 0.92,  # log-likelihoods of the families' kinds
    "rounds": 0.41,  # log-likelihood of the numbers of messages of rings
    "lockstep": 2.0,  # mean log-likelihood of pairs in a host; so many are independent
    "uneven": -1.7,  # share of members in groups of another size than most, or in two groups with the same other member
    "misplaced": -5.2,  # share of octets between members that a host's cut puts in different places
    "open": -13.6,  # share of octets that enter groups and do not leave
    "product": -3.3,  # |ln(product of the dimensions / members)|; e^-6: one in 400
    "no_grid": -2.1,  # besides: that the product is another at all; that an inner dimension is the whole plane
    "not_nested": -3.4,  # an inner dimension that does not divide the plane; two pipelines that close circles
    "hierarchy": -1.4,  # a reduction in several stages (shards and replicas)
    "more_stages": -0.55,  # each beyond two
    "partly": -2.8,  # a part of the plane reduces besides what the whole plane reduces: that rather serves another dimension
    "separately": -3.4,  # gradients that replicas of an inner dimension reduce apart from it
    "spans_less": -9.8,  # gradients that are not reduced over the whole plane
    "context_alone": -4.4,  # context parallel without a reduction of its own
    "never_reduced": -2.3,  # experts that are nowhere reduced
    # How much less usual a layout is.
    "uses_pp": -0.45,  # that some traffic serves a dimension
    "uses_tp": -1.5,
    "uses_cp": -1.3,
    "uses_ep": -1.9,
    "uses_edp": -0.84,
    "uses_tied": -2.0,
    "direct_twice": 1.1,  # in favour: who gathers directly also reduces so
    "other_algorithm": -0.42,  # a library that reduces in rings here and all with all there
    "halving": 1.9,  # in favour of levels inside hosts: MPI and gloo halve over all ranks
    "in_levels": -1.2,  # first inside hosts, then between them; in practice sharding in a host, replicas across
    "twins_differ": -5.7,  # tensor twins' octets of gradients
    "irregular": -0.69,  # groups that lie across hosts so that hosts are not all cut alike
    "stages_in_host": -1.0,
    "no_tensor": -0.45,  # a pipeline of ranks that share hosts: practice puts tensor parallel inside hosts first
    "part_of_host": -1.4,  # tensor parallel over a part of a host
    "odd_tensor": -0.2,  # over no power of two
    "silent": -0.22,  # members that say nothing
    "silent_unasked": -0.77,  # where no ring asks for them
    "idle": -6.8,  # left out though there
    "tensor_across": -1.1,  # tensor between hosts
    "wide_tensor": -4.6,  # over more ranks than a host usually has
    "no_replicas": -3.6,
    "only_stages": -0.37,  # nothing but stages
    "deep": -0.47,  # each doubling beyond the usual number of stages
    "hidden_context": -4.1,  # context parallel that stays inside hosts
    "hidden_experts": -4.2,  # an exchange of experts that stays inside hosts
    "inner_apart": -2.5,  # members of a host that share a plane, but not its inner dimension, which leaves the host
    "hints": 1.0,  # log-odds of what the operator knows
}
TWINS_NEAR, TWINS_FAR = 0.01, 0.04  # shares by which tensor twins' octets differ: chance, in full
ALONG_AXES = 0.9  # share of the octets that move along an axis of a placing in order; the rest is reduced over several
USUAL_HOST, USUAL_STAGES = 8, 8  # ranks of a host; stages
SURE_OF_REPLICAS = 5  # doublings of the ranks from which on a job without replicas is that unusual: 32
MORE_WAYS = 1.5  # rings through a host where one would do: rails of their own are rather tensor parallel
NOT_OPEN = 0.01  # share of the octets in open rings below which none asks for silent members

# What is looked at.
MOST_MEMBERS, MOST_RECORDS = 512, 1 << 20  # ranks and records of a job; of more, counting takes too long between two windows
MOST_STREAMS, MOST_COMMUNICATORS = 1 << 14, 1 << 11  # 5,630 and some 600 in a job of 512 ranks; random pairs make more
MOST_FAMILIES = 6
WEIGHTY = 5e-4  # share of the octets below which a family says nothing: the loss is reduced over all dimensions
OPEN = 0.2  # imbalance of a one-way communicator that goes on inside hosts
PARTS_OF_LIFE, LEAST_PARTS, ONE_PART = 12, 3, 0.7  # a stream recurs in so many parts of the life, and has less than this in one

# What is said.
FIT_SOFT = 4.0  # log-likelihood of structure at which the best hypothesis explains the traffic with even odds
SURE = 0.9  # from which on an answer outweighs what the ports of TCP told
TEMPER = (
    0.85  # of the log-odds, whose weights were fitted to the same jobs: with it some 60 of 65 fresh ones said at 0.9 are right
)
UNCOUNTED = 0.75  # confidence at most where messages cannot be counted: 15 of 22 layouts of such records are right
EVEN = 0.5  # that it explains the traffic; below, it explains too little to be believed
# Odds for what `prism.layout.labels.parallelism` infers by other means: those that make the truth likeliest in 226 jobs of
# RDMA (3 to 10) and 84 of TCP (50 to 150), from five simulators and real runs. It tells conversations of TCP apart by their
# ports.
AGREES, AGREES_IN_BURSTS, AGREES_INSIDE = 2.0, 25.0, 6.0
MOST_LAYOUTS, MOST_ALTERNATIVES, LEAST_SAID = 50, 3, 0.01  # ranked; said beside the first; probability below which none is said
