"""Constants of the diagnosis: unit, meaning and source of each number. Functions may take them as keyword arguments."""

MIN_LOSS = 0.02  # share of the usual step time: smallest loss, own work, and error that count; healthy medians vary by 1 %
MIN_EXPLAINED = 0.5  # share of delays or of what is compared, least confidence of a claim: more than all others together
EXAMINED = 6  # spans of slow steps per window, candidates that are replayed, losses in a finding: the clearest first
FEWER = 0.12  # share of new delays that a larger candidate (host, switch) must explain in addition to a smaller one
DOUBT = 0.1  # share of new delays: a candidate that explains this much less is e times less likely; largest doubt against peers
SAVED = 0.3  # share of a step's loss: if its slowest lane explains this much, longer transfers explain all of it
TIMES = 4.0  # ratio to usual: largest slowdown of own work that may explain a delay; the simulated ones are up to 3
LEAST = 0.1  # least weight of a delay if no own work is visible: work may overlap transfers
RARE = 0.05  # number of such spans by chance, share of far longer steps or missing octets, probability: accepted
SIGMAS = 6.0  # robust standard deviations: least deviation of a span of slow steps
ALWAYS = 0.8  # share of steps, lanes or delays, or probability, that is nearly all: one in five is an exception
WORTH = 0.05  # share of a step: least cost that is reported, twice as much for uneven work; less is hidden by bubbles and noise
CLEAR = 4.0  # ratio to usual values, or robust standard deviations, that shows a difference; a crash by steps of silence
LEAST_PACKETS = 10  # lost packets: fewer are by chance
SLOW_LANE = 0.26  # natural logarithm: lanes that lose this much of their rate (1.3 times) are slow; healthy ones vary by 0.1
HALF_SPEED = 2.0  # ratio to the rate of peers: a NIC or its bus at half speed or less is broken, whether it costs time or not
MEASURED = 10.0  # odds ratio for a part of the network that lanes' rates, or queues, show directly
MOST_SCORE = 999.0  # largest score in reports
UNEVEN = 0.15  # share of the usual work: least excess of a stage, or spread over micro-batches or steps; healthy ones reach 0.1
BEST = 64  # candidates that get a probability; later ones explain nothing
PASSES = 2  # searches for slow steps: again among those that no cause explains; more than two faults at once are rare
DRAWS = 64  # replays with drawn micro-batches; their mean varies by less than a hundredth

# Completeness of records and isolation
LISTED_HOSTS = 8  # alternatives that a finding lists: what a person reads
SLACK = 0.005  # share of octets: more than that is something, less is retransmissions and step borders
UNKNOWN_RATE = 100  # packets per sample, if the exporter does not say: a low rate of data-center switches
AGGREGATED = 0.25  # power of the share of time with traffic: records that carry it half of the time are 84 % complete
MISSING = 8  # factor on the share of missing records: 1 % of them leave 92 % of the confidence
ISOLATED = 0.9  # probability that the isolated hosts contain the cause
NO_SUSPECT = 0.02  # probability that the cause is none of the suspects; ranks below it are not listed
SHARED_TIME = 0.25  # share of the shorter of two findings in which they overlap

# Stops
AHEAD_OF_OTHERS = 2.0  # ratio to the mean distance of the other closes at which one closed alone before
COMPARED = 9  # steps of usual duration that are compared with a stop: most; an odd number
INCOMPLETE = 0.75  # share of a step's octets: below it the last step was interrupted
LONGER = 0.5  # steps by which a silence is longer than usual, twice as many if it lasts; healthy silences reach 0.45

# Likelihoods of due operations (`python -m benchmarks.stops`). Of 99 hangs of drawn clusters in which somebody was due, every
# answer contained the rank that stopped, with CHANCE from 0.003 to 0.1, NOBODY below 0.1, HIDDEN from 0.2, any ALIVE. No first
# operation lacked it: CHANCE is 1 of 101 (rule of succession). NOBODY is for pauses of healthy jobs, which hangs do not show.
HIDDEN = 0.25  # prior probability: a rank stopped that keeps others on its host waiting invisibly
CHANCE = 0.01  # probability that an operation comes first without the rank that stopped
ALIVE = 0.1  # ratio: a rank stopped although it took part in later operations, or waits within a transfer
BEHIND = 0.5  # weight of all due operations of one kind that had moved more than another of this kind: they may follow it
NOBODY = 0.1  # probability of a due operation if nobody stopped, and prior probability of that
# Probability of a second candidate from which on a finding names both, and least one that senders wait for a receiver that
# stopped, because other steps show it for working ones only: above 0.25 = (1 − ALWAYS) / ALWAYS no sender is named alone.
TIED_PROBABILITY = 0.3
