"""Constants of this folder: unit, meaning and source of each number. Functions take them as keyword arguments."""

STEP_BORDER = 0.1  # share of a step's octets: a job that ends stops within this distance of a step border
EPISODE = 3  # steps: as long a deviation is no chance
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
