"""Constants of files without compiled functions: unit, meaning and source of each number.

Files with compiled functions have their numbers beside them: stored compiled code is renewed when its own file changes only.
"""

# Volumes and rhythm.
EQUAL = 0.01  # relative difference of equal volumes: retransmissions, one message at the ends of the observed time
TOLERANCE = 0.02  # relative difference of equal volumes per step
BALANCED = 0.03  # relative difference of activations and their gradients, and of their multiples
NEARLY_EQUAL = 0.05  # relative difference of volumes inside a group, which lockstep has joined already
LOOSE = 0.2  # relative difference of volumes with parts of steps; a dimension moves twice the octets of the next
REPETITIONS = 3  # equal volumes, or idle times: two may be by chance
NEARLY_AS_MUCH = 0.9  # share of the best explanation that a coarser rhythm must reach
PAUSE = 2.5  # ratio to the longest usual silence: a longer one is no part of periodic work
AS_OFTEN = 2.5  # ratio of numbers of sends: a dimension of halving sends once or twice in a step

# Groups and rings.
TRIANGLE = 3  # members, or ranks: of fewer there is no ring and no odd one out
MOST_LANES = 0.75  # share of all directed pairs of the members of an exchange of all with all
LAYERS = 4  # collectives that share an edge
TESTED_PAIRS, COMPARED_PAIRS = 64, 3  # pairs of equal volume that are tested for hand-overs; whose idle share stands for all
COMPARED_LANES = 32  # lanes of each direction of a ring that are compared
COMPARED_TIMES = 8  # times of each of two streams; fewer give no median
AT_ONE_TIME = 0.4  # share of the octets that two lanes of a ring move at one time, beyond chance
AT_LEAST_AT_ONE_TIME = 0.25  # the same for each lane of the ring; stages reach it occasionally, but not all around
HANDED, LONG_AFTER = (
    0.8,
    0.01,
)  # share of steps in which one direction of a hand-over ends long after the other; share of a step

# Interrupted steps.
COMPLETE = 0.005  # share of a stream's octets that may be missing: retransmissions, padding
ORDER = 0.001  # share of a step: smaller differences of time show no order
NEGLIGIBLE = 0.1  # share of the smallest difference that shows an order
EXAMPLES = 4  # compared steps: fewer show no habit
ALWAYS_AT_END = 0.9  # share of the compared steps in which a rank is at an end of the data that was due first
MOSTLY_BLAMED = 0.6  # share of the compared steps in which one rank is to blame
SENDER_HUNG = 0.8  # probability that the sender hung, not the receiver, if nothing shows which: 7 of 8 runs, plus 1 of 2
MOST_STEPS = 0.8  # share of the compared steps: a habit
STEP_BORDER = 0.05  # share of a step: records this near to its border may belong to the other step
PROMPT, PROMPTEST = 4, 0.1  # ratio of a response time to the quantile of the promptest ones: slower ones waited
AFTER_READY = 0.1  # share of the time since the sender was ready: a send within it after the receiver's message waited for that
