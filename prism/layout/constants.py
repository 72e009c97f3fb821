"""Constants of this folder: likelihoods of a family for each kind, and the weight of each feature of a hypothesis.

Log-likelihoods are natural logarithms, up to a constant. `WEIGHTS` are fitted to 825 jobs of 11 origins, each simulator one
origin, by `python -m benchmarks.calibration`, with the captures that docs/accuracy.md names; "relayed" and "strided" again to
855 jobs. With all weights of that fit, fewer of them are right.
Nine of them, "hidden" most, then went half the way (geometric mean) to a fit to 363 other jobs, with new draws of SMPI and of
NCCL's manner: context inside hosts was said to be data parallelism with 0.9 too often. Weights of `GIVEN` there are chosen:
e^-6 is one job in 400. So is "sharded": 21 of 185 jobs without shards have volumes as of shards and replicas.
`benchmarks/sensitivity.py` shows how far each number can move before results change.
"""

from __future__ import annotations

from typing import Literal

from prism.evidence.constants import ALIKE_RUNS as ALIKE_RUNS
from prism.evidence.constants import AROUND as AROUND
from prism.evidence.constants import EQUAL_VOLUME as EQUAL_VOLUME
from prism.evidence.constants import FINEST as FINEST
from prism.evidence.constants import HOSTS_TRIED as HOSTS_TRIED
from prism.evidence.constants import LIKE_MESSAGES as LIKE_MESSAGES
from prism.evidence.constants import ONE_CLASS_SIZE as ONE_CLASS_SIZE
from prism.evidence.constants import SQUARE as SQUARE
from prism.evidence.constants import TRIANGLE as TRIANGLE

Kind = Literal["dp", "pp", "tp", "ep", "cp", "edp", "tied", "none"]
KINDS: tuple[Kind, ...] = ("dp", "pp", "tp", "ep", "cp", "edp", "tied")

INNER: tuple[Kind, ...] = ("tp", "cp", "ep")  # dimensions that exchange in each layer
DIMENSIONS: tuple[Kind, ...] = ("dp", "tp", "cp", "ep")  # dimensions whose groups may issue several collectives

# Log-odds of each kind by what is seen of a family, up to a constant of the row: multinomial logistic regression by
# `python -m benchmarks.kinds`, fitted to 2,513 families of known kind, of 13 origins, in recordings and in parts of 5 to 12
# steps; each origin counts as the root of its number, all kinds alike. Where true groups lie inside one another, recorded
# message sizes tell the kind. Where in a step something moves is no evidence: bounds of steps may lie anywhere.
SCORED: tuple[Kind, ...] = ("dp", "pp", "tp", "ep", "cp", "tied")
KIND_SCORES: dict[str, tuple[float, ...]] = {
    "one cycle": (-0.48, -0.42, -0.68, 0.26, 1.18, 0.14),
    "one path": (0.84, 0.18, 0.05, -0.71, -0.41, 0.06),
    "one pair": (-0.51, 0.19, 0.12, 0.31, -0.21, 0.10),
    "one other": (-0.47, -0.06, 0.90, -0.21, -0.18, 0.02),
    "one tree": (0.34, -0.01, 0.00, -0.34, -0.00, 0.00),
    "two cycle": (0.90, -0.20, 0.51, -0.73, -0.50, 0.03),
    "two pair": (-0.39, 0.61, 0.25, -0.01, 0.10, -0.55),
    "two path": (0.21, -0.37, -0.11, 0.31, -0.11, 0.07),
    "two clique": (-1.29, -0.06, -0.33, 1.67, -0.04, 0.05),
    "two other": (0.06, -0.02, -0.25, 0.31, -0.10, 0.01),
    "two tree": (0.01, -0.00, -0.00, -0.00, 0.00, 0.00),
    "two cube": (0.80, 0.15, -0.45, -0.85, 0.27, 0.08),
    "messages": (-0.63, 0.53, 0.86, 0.28, 0.44, -1.49),
    "messages per run²": (0.16, -0.00, -0.03, -0.15, 0.05, -0.03),
    "spread": (-1.05, 1.48, 1.56, -0.56, -0.32, -1.11),
    "overlap": (-2.21, -0.34, 1.11, 0.28, -0.07, 1.23),
    "leads": (0.11, 3.26, -1.05, -2.02, -0.72, 0.42),
    "chain leads": (-1.14, 2.64, -0.64, -0.92, -0.29, 0.36),
    "chain overlap": (0.29, -0.66, -0.63, -0.39, 0.41, 0.99),
    "chain members": (-0.89, 1.51, 0.20, 0.68, -0.27, -1.23),
    "chain leads members": (-0.96, 1.25, -0.13, -0.63, 0.03, 0.44),
    "equal clique": (1.06, -1.61, -2.37, 0.61, 1.50, 0.81),
    "sizes": (0.34, -0.47, -0.66, 1.13, -0.17, -0.18),
    "doubled": (1.01, -1.34, -1.18, -1.69, 4.89, -1.69),
    "bursts": (0.27, -1.26, 1.38, 2.41, 0.24, -3.03),
    "share": (0.93, -0.02, -0.30, -0.36, -0.24, -0.01),
    "varies": (-1.52, 1.61, -0.90, 2.11, -0.84, -0.46),
    "members": (-2.13, -0.94, -0.72, 1.10, -0.01, 2.70),
    "little": (2.02, 0.21, -2.09, -1.05, -0.87, 1.77),
    "beside hand-overs": (-0.40, 0.79, 0.73, -0.82, -0.41, 0.11),
    "runs per hand-over": (-0.28, -1.44, 0.65, 0.67, 1.24, -0.84),
    "always": (7.50, -3.38, -2.38, -2.80, -0.32, 1.39),
    "many members": (2.03, -0.39, -0.19, 0.09, -2.47, 0.93),
}
# Share of the octets below which families are seldom inner dimensions: of 64 families of tensors and 23 of context none has
# less, of 57 of experts 3, of 708 of reductions 45. The row "share" alone is linear in the logarithm.
LITTLE = 0.02
EXCHANGES = ("two clique", "two pair", "two other")  # forms of an exchange of all with all
ROUNDS = frozenset(("two pair", "two cycle", "two cube"))  # forms of levels of halving, seen apart
BRANCHES = frozenset(("one pair", "one path", "one other"))  # forms of parts of a tree
# Members up to which their logarithm counts in one row, and beyond in another: tensors and context have 2 to 8 members and
# hardly more, reductions any number. The mean log-probability of the right kind is -0.239 with 4, -0.242 with 8, and -0.243
# undivided.
FEW_MEMBERS = 4
# Runs per run of the hand-overs that are told apart, from and to. In jobs with pipelines 38 of 43 families of tensors have 3 or
# more, and 2 of 254 of reductions do; more than 8 say no more.
PER_HANDED = 1 / 4, 8
NEVER = -30.0  # log-odds of what cannot be
# Share of a step with even odds, and steepness. Of pipelines 95 % have 0.03 or more, of exchanges 0.02 or less.
AHEAD_LEAST, AHEAD_SHARP = 0.04, 3.0
BEHIND = 0.5  # runs by which one direction comes after the other: of 165 pipelines' pairs 161 have more, of 148 others 5
UNEXPLAINED, UNEXPLAINED_SHARE = -4.0, -25.0  # for a family that serves no dimension; per share of the octets
FEW_OCTETS = 0.01  # share of the octets; less may be scalars, norms or embeddings, and costs in proportion
ALIKE_SPREAD = 0.1  # share of a step: difference of the spread of rounds of one reduction at most
TWO_USES = 2.0  # penalty where two dimensions divide the members in the same way
HELD_BY_MOST = 8.0  # kinds of a family that are this much less likely than its best kind are not tried
BEAM = 128  # assignments of kinds to families that the search keeps
BESIDE = 2  # families beside the rounds of one reduction: tensors or experts, and stages
# Members of one host that differ in one coordinate: offset between the same operations, log10 of the share of a step.
# Median and sigma of the offset, and of the ratio of its jitter to it, by relation (`lockstep_fit`); decades. This table and
# the next are fitted by `python -m benchmarks.offsets` to 11 sets and an own grid, those of one simulator joined to one origin:
# 120 jobs with tensor twins, 45 with replicas that traffic joins, 50 with stages, 23 with twins of replicas, 43 with rails, 72
# with twins that hand over (6), and 82 with replicas that do (7). Both are the mean of that fit and one to 363 other jobs.
OFFSETS = {
    1: (-3.63, 0.65, 0.14, 0.49),
    2: (-3.10, 1.11, -0.23, 1.78),
    3: (-1.11, 0.32, -2.00, 1.18),
    4: (-2.84, 0.74, 0.01, 1.38),
    5: (-3.46, 0.89, 0.01, 0.81),
    6: (-4.04, 0.72, -0.01, 0.22),
    7: (-3.23, 0.52, 0.14, 0.58),
}
STEADIEST = -2.0  # decades: lowest ratio of jitter to offset that is told apart
# Share of the octets in messages that start together: reductions by halving have rounds between hosts before and after those
# inside, of which the latter start together.
TOGETHER = 1 / 3
# Share of jobs whose members of a relation start at the same instant, also of 8, replicas that exchange in rounds which both
# sides begin at one instant; share of the pairs that then do, and else.
BOUND, ALL_BOUND, NONE_BOUND = {1: 0.19, 2: 0.38, 3: 0.05, 4: 0.23, 5: 0.36, 6: 0.61, 7: 0.11, 8: 0.85}, 0.992, 0.024
HANDED = 0, 6, 7, 3, 7, 7  # relation instead of each relation, if members hand over
BOUND_EVEN = 0.5  # the share where steps do not vary, of any relation but that of stages
REPLICAS, STAGE, RAILS, WAITING = 2, 3, 5, 8  # relations; `RAILS`: replicas that only their host joins
OFFSET_ELSE = 0.1  # share of pairs that break this: a straggler delays its rail, overlap hides a stage's offset
LEAST_DEVIATION, MOST_CONTRAST = 0.3, 3.0  # decades; deviations beyond which a contrast counts no more
# Turns of a family with others, log2 per run of the others: where inner dimensions and reductions of gradients have even odds
# (logistic regression, 41 and 177 families of jobs with pipelines); the least that is told apart; members that are compared.
EVEN_TURNS, MOST_TURNS, MEMBERS_TRIED = 0.65, 3, 8
PIPELINES = 2  # hand-over families of a job at most: activations and gradients of unequal size

# Contribution of each feature to the log-likelihood, fitted. Many features are shares of members or octets.
WEIGHTS = {
    "fit": 1.15,  # log-likelihoods of the kinds of the families
    "lockstep": 0.62,  # mean log-likelihood of pairs in one host, counted as this many independent pairs
    "together": 0.93,  # the same, of which pairs start together
    "twins_closer": 2.10,  # in favour: twins and context mates hand over closer in time than replicas do, in deviations
    "other_data": -5.00,  # share of twins of a host that hand over other sizes, and of replicas with the same sizes
    "in_turn": 0.82,  # in favour: inner dimensions take turns in each micro-batch or layer, reductions of gradients do not
    "uneven": -6.00,  # share of members in groups of an unusual size, or in two groups that share another member
    "unjoined": -7.00,  # share of members in groups of several hosts that no traffic joins
    "misplaced": -7.00,  # share of octets between members at different places of the host's division
    "product": -18.00,  # |ln(product of the dimensions / members)|; e^-6: one in 400
    "not_nested": -8.00,  # an inner dimension that does not divide the plane; two pipelines that close cycles
    "unreduced": -2.50,  # context or experts between hosts, but nothing reduces their gradients over replicas; half of the fit
    # Features of unusual layouts.
    "uses": -1.57,  # each of tensor, context, experts and experts' gradients that some traffic serves
    "unforeseen": -2.50,  # sum over families of the shares of octets between pairs that no algorithm foretells for the groups
    "sharded": 2.2,  # in favour: two families move as much as shards and their replicas; ln(185/21): of 185 others 21 do so
    "halving": 1.30,  # in favour of levels inside hosts: MPI and gloo halve over all ranks
    "rounds": 1.15,  # log-odds by their messages that rings which reduce gradients go on through hosts
    "odd_tensor": -2.5,  # a size of tensor parallelism that is no power of two: none of 40 jobs has one; as if half of one had
    "in_levels": -0.80,  # one reduction by all rails, rather than tensor parallelism in hosts that is reduced rail by rail
    "in_levels_long": 0.50,  # the same where reductions alone take `LONG` of a step
    "stages_in_host": -2.62,
    "no_tensor": -0.90,  # a pipeline whose ranks share hosts: in practice tensor parallelism is placed inside hosts first
    "part_of_host": -2.10,  # tensor parallel in hosts that hold replicas, too
    "relayed": -1.75,  # context or experts of several ranks of a host, each of which exchanges with its like in other hosts
    "strided": -1.63,  # share of context, experts or tensors that hosts divide; neighbours come first in 57 of 62 jobs
    "no_replicas": -3.60,  # a job without data parallelism; half with context, which reduces gradients, too
    "hidden": -3.20,  # context parallel inside hosts, or experts that reduce with the same groups as other gradients
    "hints": 1.0,  # log-odds of the operator's hints
}
SAME_RATIO = 0.005  # relative tolerance of the whole ratios of rounds of one collective: headers, rounding
ALONG_AXES = 0.9  # share of the octets that move along one axis of an ordered placing; the rest is reduced over several axes
SHARD_MOVES = 2, 3  # times that sharded parameters move per step: gathered, gathered again if freed, and gradients scattered
CLEAR_SHARDS = 3.0  # the evidence where they move whole times, in messages that are whole parts: of 70 other pairs none does so
# The evidence where they are neither that nor rounds: 2 of 24 right hypotheses with such groups are, and 212 of 297 others;
# logarithm of the ratio, over the weight. A reduction in rings or cliques within parts of a group counts as much:
# all nine such families of true jobs, of four origins, reduce gradients of experts; ln(9.5 / 0.5) = 2.9, the weight gives 2.2.
NO_SHARDS = -1.0
AS_OFTEN = 2**0.5  # ratio of two numbers of messages that is nearer to 1 than to 2
# Part of the penalty of jobs without replicas that remains with context: of 66 such jobs 11 have none, of 330 others 16.
CONTEXT_REDUCES = 0.5
SURE_OF_REPLICAS = 5  # doublings of the ranks at which a job without replicas gets the full penalty: 32 ranks
# Share of a step from which reductions by all rails are rather those of shards, layer by layer; but not of rings whose messages
# are counted and say that they end at the hosts. In jobs that only reduce: of MPI, gloo and simulators of others 6 of 8 such
# jobs have more and none of 6 with tensors; in own draws in NCCL's manner 14 of 22 and 2 of 7; of the own simulator 3 of 6
# with tensors. The two weights are the log-odds, each origin counted as one.
LONG = 0.25
# Runs per step at least of reductions that follow layers: 19 of those 20 jobs have as many. One reduction may last long, too,
# if the network is slow.
LAYERS = 3
MORE_WAYS = 1.5  # rings through a host where one would do; more are separate rails, rather tensor parallel

# Share of rings whose records are messages, one or several of each round: 13 of 16 in three sources; lower bound at 95 %
# (Wilson).
COUNTED = 0.57

# Log-odds against a job that leaves GPUs of its hosts unused, which nobody else uses: one in 400, chosen. Of 12 jobs with
# silent ranks two fit worse with them, by 4 and by 1; two that left GPUs unused fit worse by 17 and 20 with them.
UNUSED = 6.0

# Limits of the search.
# Log-odds behind the best hypothesis so far at which one is dropped before all of its features are known: the first three
# answers of 63 jobs are the same as with 20. Scored in another order, 113 recordings have the same answers.
HOPELESS = 12.0
MOST_MEMBERS = 1 << 14  # ranks of a job: the largest that is simulated in benchmarks has 4,096
# Streams and communicators per rank: jobs of 1,024 and 2,048 ranks have up to 20 and 5, random traffic has more.
# Where all exchange with all, 256 ranks have 255 each for every size: all jobs may have as many as one of `ALL_TO_ALL` ranks,
# which is enough for two sizes.
MOST_STREAMS, MOST_COMMUNICATORS, ALL_TO_ALL = 64, 16, 2048
MOST_FAMILIES = 6
WEIGHTY = 5e-4  # share of the octets below which a family is ignored: the loss is reduced over all dimensions
SCALARS = 2.5  # runs per step of such reductions at most: the loss, the norm of the gradients

# Probabilities that are reported.
# Log-likelihood of the structure, by the share of the families between whose pairs no algorithm foretells traffic. Where that
# is all of them, as if the ends of the records were shuffled, a layout rather does not explain the traffic.
UNFORESEEN_SHARE = -5.0
FIT_SOFT = 4.0  # log-likelihood of the structure at which the best hypothesis explains the traffic with even odds
# Highest confidence where messages cannot be counted, or hosts have unequal numbers of ranks although they have GPUs for more:
# 15 of 22 layouts of records that cannot be counted are right.
INCOMPLETE = 0.75
# Highest confidence without hosts, because experts and context may move inside them: 42 of 44 layouts that were said with 0.9
# or more are right; 0.86 is the lower bound of that share at 95 % (Wilson).
HOSTS_UNKNOWN = 0.86
# Share of its time that the busiest rank sends: where all but scalars stays inside hosts 4e-5 to 3e-4, else 9e-4 or more.
LEAST_MOVING = 9e-4
EVEN = 0.5  # probability that a layout explains the traffic; below, it is not reported as explained
MOST_LAYOUTS, MOST_ALTERNATIVES, LEAST_SAID = 50, 3, 0.003  # ranked; reported; lowest probability of a reported alternative
# The operator's hints (`hint_priors`): log-odds, weighted by `WEIGHTS["hints"]`.
HINTED_SIZE = 4.0  # against a size other than the one given for the job: e^-4, one hint in fifty is wrong
HINTED_TENSOR = 2.0  # against a TP size that is not among those of the site: e^-2, one job in eight is unusual
PART_OF_HOST = 1.0  # against tensor parallelism over part of a host, or over an uneven number of hosts

# Bounds of what is seen of a family (`likelihood`).
LEAST_RUNS = 0.2  # bursts or messages in a step at least: one in five steps, as with gradients accumulated over steps

# Sums, without which traffic is no training (`reductions`).
ROUNDS_OF_SUM = 2  # one reduces, one gathers
HEARD = 0.25  # share of the messages that follow another at once: of two rounds half, of borders that are swapped none
