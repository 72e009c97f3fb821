"""Constants of this folder: unit, meaning and source of each number. Detectors take thresholds as keyword arguments."""

STEP_BORDER = 0.1  # share of a step's octets: a job that ends stops within this distance of a step border
QUEUE_FACTOR = 5.0  # ratio to the usual delay from which packets queue
# Thresholds and noise that several detectors use.
SIGMAS = 6.0  # robust standard deviations: least height of a deviation; hundreds of ranks and steps are examined
LONGER_BARELY = 1.03  # ratio of step durations below which steps took no longer
SLOWER = 1.2  # ratio of step durations: steps this much longer are slow
SLOWER_LINK = 1.3  # ratio of the usual rate of bursts to the present one
CRITICAL = 1.5  # slowdown from which a finding is critical
VOLUME_NOISE = 0.02  # logarithm of a duration: least noise of steps and reductions
LOSS_NOISE = 0.25  # logarithm of counts of lost packets: least noise
EARLY_STEPS = 2  # steps that suffice for an early claim on a link; with more its rates are compared step by step
EPISODE = 3  # steps: as long a deviation is no chance
COMPARED_STEPS = 6  # steps: fewer cannot be split into slow and usual ones
LEAST_RANKS = 3  # ranks, groups or edges: of two, either may be the odd one
LEAST_ALIKE = 4  # edges of one kind of traffic: fewer are compared with those of other kinds
MOST_SCORE = 999.0  # largest score in reports

# Crash and hang. Shares of a step's octets.
NOTHING_MOVED, ALL_MOVED, MOST_OCTETS = 0.005, 0.95, 0.9  # less is nothing; more is all; share of the octets that is enough
CUT_SHORT, CUT_BARELY = 0.3, 0.1  # share that moved partly: enough alone; enough if a rank began the step afterwards
AHEAD_OF_OTHERS = 3.0  # ratio to the median distance of the other closes at which one closed alone before
STEP_ENDED = 0.99  # from here on a silence lies after the step
SOON_S = 2.5  # seconds: silences of one step time are hangs if steps are longer than half of it
BEYOND = 1.5  # ratio to the longest usual silence inside a step
USUAL_STEP = 1.5  # ratio to the usual duration: longer steps are no examples
DUE_FIRST = 0.6  # share of the examples in which the same rank was due first
EXAMPLES, MOST_SILENCES, KNOWN_STEPS = 9, 16, 5  # other steps per silence; silences; steps, while a silence lasts
SAME_PLACE, EQUAL_SILENCES = 0.02, 0.1  # difference of places in the step; of logarithms of lengths: a habit, e.g. a checkpoint
INCOMPLETE = 0.75  # below it the last step was interrupted
SAME_VOLUME = 0.1  # relative difference of the octets of a step that a hang delayed, and of others

# Links.
LOSSIER, LEAST_LOST = 4.0, 10  # ratio of retransmitted packets to those of similar edges; packets, fewer are by chance
EXPLAINS, EXCLUSIVE = 0.7, 0.6  # share of the bad edges that use a part; share of bad ones among the edges that use it
EQUAL_FIT = 0.05  # difference of the fit within which parts explain an incident equally well
AS_LONG = 0.25  # ratio of octets of a burst to those on bad edges: shorter bursts pass shapers at full rate
LONGEST_QUEUE = 0.25  # ratio to the longest delay: shorter queues are behind another one
QUEUE_EXPLAINS = 0.2  # share of the steps' excess that waiting in queues explains at most
