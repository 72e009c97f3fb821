"""Constants of this folder: likelihoods of a family for each kind, and the weight of each feature of a hypothesis.

Log-likelihoods are natural logarithms, up to a constant. `WEIGHTS` are fitted by `python -m benchmarks.calibration` to 509 jobs
of eight origins. Shares of families were counted in the same jobs. `benchmarks/sensitivity.py` shows how far each number can
move before results change.
"""

from __future__ import annotations

from typing import Literal

Kind = Literal["dp", "pp", "tp", "ep", "cp", "edp", "tied", "none"]
KINDS: tuple[Kind, ...] = ("dp", "pp", "tp", "ep", "cp", "edp", "tied")

DIMENSIONS: tuple[Kind, ...] = ("dp", "tp", "cp", "ep")  # dimensions whose groups may issue several collectives

# Values by kind are shares of 1,050 families of known kind, of eight origins, rounded. Forms that were not seen get a small
# share.
_COLLECTIVE = {  # likelihood of each form if a library reduces by ring, tree or halving
    "one cycle": 0.3, "one path": 0.05, "one pair": 0.1, "one other": 0.04, "one tree": 0.02, "two cycle": 0.03,
    "two pair": 0.24, "two path": 0.04, "two clique": 0.06, "two other": 0.03, "two tree": 0.02, "two cube": 0.12,
}  # fmt: skip
FORMS: dict[Kind, dict[str, float]] = {
    "dp": _COLLECTIVE, "edp": _COLLECTIVE, "tp": _COLLECTIVE, "cp": _COLLECTIVE,
    "pp": {
        "two pair": 0.6, "two path": 0.35, "two cycle": 0.02, "two other": 0.005, "two clique": 0.005, "one path": 0.001,
        "one pair": 0.003,
    },
    "ep": {  # one family of a job is an exchange; reductions and gathers among experts come in addition
        "two clique": 0.4, "two pair": 0.35, "two other": 0.05, "two path": 0.05, "two cycle": 0.02, "one cycle": 0.04,
        "one pair": 0.06, "one path": 0.02, "two cube": 0.03,
    },
    "tied": {"two pair": 1.0},
}  # fmt: skip
EXCHANGES = ("two clique", "two pair", "two other")  # forms of an exchange of all with all
UNLIKELY = 2e-4  # likelihood of a form that is not listed
VARYING = {"ep": 0.6}  # probability that messages vary in size; for other kinds:
VARYING_OTHERS = 0.05
IN_TURN = {"pp": 0.97, "ep": 0.5}  # probability that the two directions of a pair alternate; for other kinds:
IN_TURN_PAIRS, IN_TURN_OTHERS = 0.05, 0.4  # where each pair exchanges; where blocks travel around a ring
AHEAD = {"pp": 0.97}  # probability that one direction leads in the step; for other kinds; for trees, which reduce first:
AHEAD_OTHERS, AHEAD_TREES = 0.03, 0.4
# Share of a step with even odds, and steepness. Of pipelines 95 % have 0.03 or more, of exchanges 0.02 or less.
AHEAD_LEAST, AHEAD_SHARP = 0.04, 3.0
RUNS: dict[Kind, tuple[tuple[float, float, float], ...]] = {  # bursts in a step: log-normal mixtures (weight, median, sigma)
    "dp": ((0.85, 2.4, 0.8), (0.15, 20, 1.0)), "edp": ((0.85, 1.2, 0.6), (0.15, 20, 1.0)), "tp": ((1.0, 20, 0.9),),
    "cp": ((1.0, 6, 0.9),), "tied": ((1.0, 1.2, 0.7),), "ep": ((1.0, 8, 0.75),), "pp": ((1.0, 5, 1.1),),
}  # fmt: skip
WIDE = {"dp": 0.15, "edp": 0.06, "tp": 0.9, "cp": 0.3, "ep": 0.5, "pp": 0.25, "tied": 0.05}  # probability of a wide spread:
WIDE_SPREAD, WIDE_SOFT = 0.45, 0.08  # over more than this share of the step
ROUNDS_RIGHT, ROUNDS_OWN, ROUNDS_OTHER = 0.8, 0.12, 0.08  # n − 1 rounds; n, with the rank's own block; any other number
UNEXPLAINED, UNEXPLAINED_SHARE = -4.0, -25.0  # for a family that serves no dimension; per share of the octets
BESIDE = -4.0  # other collectives of a dimension's group: scalars, embeddings, norms
TWO_USES = 2.0  # penalty where two dimensions divide the members in the same way
HELD_BY_MOST = 8.0  # kinds of a family that are this much less likely than its best kind are not tried
BEAM = 128  # assignments of kinds to families that the search keeps
# Members of one host that differ in one coordinate: offset between the same operations, log10 of the share of a step.
FINEST = 1e-5  # share of a step; smaller differences are clock errors
OFFSETS = {1: (-4.4, 1.0), 2: (-3.7, 1.2), 3: (-1.1, 0.45)}  # median and sigma; 1 tensor, 2 data, 3 stage
OFFSET_ELSE = 0.1  # share of pairs that break this: a straggler delays its rail, overlap hides a stage's offset
CLOSED = 0.05  # imbalance of a family below which all octets that enter also leave
PIPELINES = 2  # hand-over families of a job at most: activations and gradients of unequal size

# Contribution of each feature to the log-likelihood, fitted. Many features are shares of members or octets.
WEIGHTS = {
    "fit": 0.92,  # log-likelihoods of the kinds of the families
    "rounds": 0.41,  # log-likelihood of the messages per step of rings
    "lockstep": 2.0,  # mean log-likelihood of pairs in one host, counted as this many independent pairs
    "uneven": -1.7,  # share of members in groups of an unusual size, or in two groups that share another member
    "misplaced": -5.2,  # share of octets between members at different places of the host's division
    "open": -13.6,  # share of octets that enter groups and do not leave
    "product": -3.3,  # |ln(product of the dimensions / members)|; e^-6: one in 400
    "no_grid": -2.1,  # additionally if the product differs at all; if an inner dimension is the whole plane
    "not_nested": -3.4,  # an inner dimension that does not divide the plane; two pipelines that close cycles
    "hierarchy": -1.4,  # a reduction in several stages (shards and replicas)
    "more_stages": -0.55,  # per stage beyond two
    "partly": -2.8,  # part of the plane reduces in addition to the whole plane: rather another dimension
    "separately": -3.4,  # gradients that replicas of an inner dimension reduce separately
    "spans_less": -9.8,  # gradients that are not reduced over the whole plane
    "context_alone": -4.4,  # context parallel without a reduction of its own
    "never_reduced": -2.3,  # experts without any reduction
    # Features of unusual layouts.
    "uses_pp": -0.45,  # some traffic serves this dimension
    "uses_tp": -1.5,
    "uses_cp": -1.3,
    "uses_ep": -1.9,
    "uses_edp": -0.84,
    "uses_tied": -2.0,
    "direct_twice": 1.1,  # in favour: ranks that gather directly also reduce directly
    "other_algorithm": -0.42,  # a library that reduces in rings in one group and all with all in another
    "halving": 1.9,  # in favour of levels inside hosts: MPI and gloo halve over all ranks
    "in_levels": -1.2,  # inside hosts first, then between hosts; in practice shards inside a host, replicas across hosts
    "twins_differ": -5.7,  # difference of gradient octets between tensor-parallel twins
    "irregular": -0.69,  # groups that cross hosts so that not all hosts are divided alike
    "stages_in_host": -1.0,
    "no_tensor": -0.45,  # a pipeline whose ranks share hosts: in practice tensor parallelism is placed inside hosts first
    "part_of_host": -1.4,  # tensor parallel over a part of a host
    "odd_tensor": -0.2,  # size is no power of two
    "silent": -0.22,  # members without payload
    "silent_unasked": -0.77,  # where no open ring needs them
    "idle": -6.8,  # endpoints with payload that the layout leaves out
    "tensor_across": -1.1,  # tensor parallelism between hosts
    "wide_tensor": -4.6,  # more ranks than a host usually has
    "no_replicas": -3.6,
    "only_stages": -0.37,  # pipeline stages only
    "deep": -0.47,  # per doubling beyond the usual number of stages
    "hidden_context": -4.1,  # context parallel that stays inside hosts
    "hidden_experts": -4.2,  # an exchange of experts that stays inside hosts
    "inner_apart": -2.5,  # members of one host in the same plane but not in the same inner group, which leaves the host
    "hints": 1.0,  # log-odds of the operator's hints
}
TWINS_NEAR, TWINS_FAR = 0.01, 0.04  # relative difference of tensor twins' octets: by chance; full penalty
ALONG_AXES = 0.9  # share of the octets that move along one axis of an ordered placing; the rest is reduced over several axes
USUAL_HOST, USUAL_STAGES = 8, 8  # ranks per host; stages
SURE_OF_REPLICAS = 5  # doublings of the ranks at which a job without replicas gets the full penalty: 32 ranks
MORE_WAYS = 1.5  # rings through a host where one would do; more are separate rails, rather tensor parallel
NOT_OPEN = 0.01  # share of the octets in open rings below which no ring needs silent members

# Limits of the search.
MOST_MEMBERS, MOST_RECORDS = 512, 1 << 20  # ranks and records of a job; above, counting takes longer than a window
MOST_STREAMS, MOST_COMMUNICATORS = 1 << 14, 1 << 11  # a job of 512 ranks has 5,630 and some 600; random traffic has more
MOST_FAMILIES = 6
WEIGHTY = 5e-4  # share of the octets below which a family is ignored: the loss is reduced over all dimensions
OPEN = 0.2  # imbalance of a one-way communicator that continues inside hosts
# A stream recurs if it moves octets in 3 of 12 parts of the job's time, and less than 0.7 of them in one part.
PARTS_OF_LIFE, LEAST_PARTS, ONE_PART = 12, 3, 0.7

# Probabilities that are reported.
FIT_SOFT = 4.0  # log-likelihood of the structure at which the best hypothesis explains the traffic with even odds
SURE = 0.9  # probability from which an answer outweighs the labels from TCP ports
# Factor on the log-odds: the weights were fitted to the same jobs. With it, some 60 of 65 fresh answers at 0.9 are right.
TEMPER = 0.85
UNCOUNTED = 0.75  # highest confidence where messages cannot be counted: 15 of 22 layouts of such records are right
EVEN = 0.5  # probability that a layout explains the traffic; below, it is not reported as explained
# Odds in favour of what `prism.layout.labels.parallelism` infers: the values that make the truth likeliest in 226 jobs of RDMA
# (3 to 10) and 84 of TCP (50 to 150), from five simulators and real runs. It separates conversations of TCP by their ports.
AGREES, AGREES_IN_BURSTS, AGREES_INSIDE = 2.0, 25.0, 6.0
MOST_LAYOUTS, MOST_ALTERNATIVES, LEAST_SAID = 50, 3, 0.01  # ranked; reported; lowest probability of a reported alternative
# The operator's hints (`hint_priors`): log-odds, weighted by `WEIGHTS["hints"]`.
HINTED_SIZE = 4.0  # against a size other than the one given for the job: e^-4, one hint in fifty is wrong
HINTED_TENSOR = 2.0  # against a TP size that is not among those of the site: e^-2, one job in eight is unusual
PART_OF_HOST = 1.0  # against tensor parallelism over part of a host, or over an uneven number of hosts

# Likelihoods of what no family shows (`likelihood`): densities, so that one odd value does not exclude a kind.
ANY_OVERLAP = 0.03  # density of any overlap of the two directions of a pair, 0 to 1
ANY_RUNS = 1e-3  # density of any number of bursts in a step
LEAST_RUNS = 0.2  # bursts in a step at least: one in five steps, as with gradients accumulated over steps
COUNTS_TRIED = 4  # counts of messages per step that are compared with the ranks of a ring, those with most octets
LIMIT_AGAINST, LIMIT_FOR = 4.0, 1.5  # log-odds of all counts: at least minus the first; at most the second times ln(ranks - 1)

# Labels from times and ports (`labels/`), the second opinion of TCP.
TRIANGLE = 3  # members: of three, every two are neighbours, so a ring and a clique look the same
FEW_STEPS = 4  # steps: fewer give no median deviation from step to step
PERIODIC_STEPS = 6  # pauses: a shorter series may show several steps as one
NEARLY_ALL = 0.95  # share of octets, or of time: what is left are other conversations, or the first and last record
WEIGHTY_PAIR = 1e-3  # share of an endpoint's busiest pair: pairs below it carry control traffic
OWN_PACE = 0.5  # share of the variation that two endpoints do not have in common; above it they are not in step
HANDING_HOSTS, REDUCING_HOSTS = 32, 16  # hosts that are examined: all hosts of a job are divided alike
WHOLE_GRID, EACH_ODDITY = 0.98, 0.7  # confidence if the sizes multiply to the members; factor for each sign that they do not
CLEAR_OFFSET, SHORT_OFFSET = 6.0, 0.005  # deviations from step to step, and share of a step, that an offset of stages exceeds
AS_IDLE = 0.6  # ratio of idle shares of a step above which two collectives are idle alike
MOVES_WITH = 0.8  # share of the octets of a collective that moves at the times of a reduction
GAP_AFTER = 0.1  # share of an idle time: traffic after a shorter gap belongs to the activity before it
EXAMINED_SETS = 3  # sets of one size whose times are compared: all of them have one kind
EQUAL_BLOCKS = 1e-3  # relative difference of the octets that three ranks send: context travels in equal blocks
SAME_PERIOD = 0.15  # relative difference of periods that count as equal
MULTIPLE = 0.005  # relative distance from a multiple of the gradients' octets that parameters in other numbers have
SPREAD_OUT = 0.2  # share of the time without gradients over which context spreads
FIRST_TENTH, LAST_TENTH = 0.1, 0.9  # shares of the octets between which a collective's time is measured
WHILE_FORWARD = 0.8  # share of the steps in which a collective moves octets before gradients can exist
TOGETHER = 0.3  # share of the time that both directions of a pair have in common if it exchanges
EQUAL_PAIRS = 0.03  # relative difference of pairs of equal volume: headers and retransmissions
CLEAR_LEVEL = 0.3  # difference of the shares of time with micro-batches in flight that shows a pipeline's direction
CLEAR_RATIO = 1.25  # ratio of counts, or of forward to backward times, that shows a pipeline's direction
