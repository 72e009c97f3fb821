"""Constants of this folder: unit, meaning and source of each number. Functions take them as keyword arguments."""

STEP_BORDER = 0.1  # share of a step's octets: a job that ends stops within this distance of a step border

# Crash and hang. Shares of a step's octets.
NOTHING_MOVED, ALL_MOVED = 0.005, 0.95  # share of a step: less is nothing; more is all
AHEAD_OF_OTHERS = 2.0  # ratio to the mean distance of the other closes at which one closed alone before
USUAL_STEP = 1.5  # ratio to the usual duration: longer steps are no examples
INCOMPLETE = 0.75  # below it the last step was interrupted
EXAMPLES, COMPARED = 2, 9  # steps of usual duration: fewest, most
LONGER, PENDING = 0.5, 1.0  # steps by which a silence is longer than usual: over, lasting; healthy silences reach 0.45
RESTARTS = 4  # usual steps: after so long a silence over RDMA the job is gone; timeouts of collectives are longer than a step
MOST_STEPS = 0.8  # share of the compared steps: a habit

# Likelihoods of due operations (`python -m benchmarks.stops`). Of 99 hangs of drawn clusters in which somebody was due, every
# answer contained the rank that stopped, with CHANCE from 0.003 to 0.1, NOBODY below 0.1, HIDDEN from 0.2, any ALIVE. No first
# operation lacked it: CHANCE is 1 of 101 (rule of succession). NOBODY is for pauses of healthy jobs, which hangs do not show.
HIDDEN = 0.25  # prior probability: a rank stopped that keeps others on its host waiting invisibly
CHANCE = 0.01  # probability that an operation comes first without the rank that stopped
ALIVE = 0.1  # ratio: a rank stopped although it took part in later operations, or waits within a transfer
BEHIND = 0.5  # weight of all due operations of one kind that had moved more than another of this kind: they may follow it
# least probability that senders wait for a receiver that stopped, because other steps show it for working ones only: above
# 0.25 = (1 − SURE) / SURE no sender is named alone; same answers up to 0.4 on 196 captures, a wrong sender at 0.15
ASKED = 0.3
NOBODY = 0.1  # probability of a due operation if nobody stopped, and prior probability of that
SURE = 0.8  # probability: a larger subject is named if no smaller one is as likely
LISTED = 0.02  # probability: ranks below it are not listed
