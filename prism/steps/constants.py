"""Constants of the step search. All are counts or ratios; none is a time or a number of octets."""

BINS = 1 << 14  # bins of the traffic clock; a window of 1,000 steps has 16 bins per step
SEQUENCES = 64  # sequences that are compared, spread over all classes and members; more change no result
PHASES = 256  # parts of the mean step; the shortest operation that is resolved is 0.4 % of a step's traffic
SCALES = tuple(2**k for k in range(9))  # smoothing in bins; each examines lags of 8 to 64 times as many bins
TREND = 32  # multiple of the smoothing: slower changes are a trend (a slow link), not a step
NEAR_BEST = 0.85  # share of the best repetition: the shortest lag above it is a step. True steps: 0.92-1, most parts: <= 0.75
# Lowest repetition of a step, 0-1: whole recordings of jobs have 0.48-0.99; 39 of 40 draws of noise have less than 0.45.
LEAST = 0.45
SMALL = 0.02  # share of the octets: a class with less is a scalar reduction (loss, norm) or signals only
ONE_SIZE = 0.03  # relative distance of message sizes of one class: headers, and the last chunk's rounding
ACTIVE = 0.05  # share of a sequence's busiest phase below which the sequence is idle
WHOLE = 0.9  # share of a step's traffic below which the first or last step was cut by the window
STRETCH = 0.4  # relative difference of a step's traffic from the median above which it is other work
RECORDS = 1 << 18  # records that are used for the mean step; of more, every second, third, ...
# Share of a step: largest distance of the idle time after a step from its place on the clock; half a layer of a ZeRO-3 model.
NEAR = 0.025
# Powers of idle times between bursts: the higher one if the lower one does not show the steps of a job with a slow link.
POWERS = (2.0, 4.0)
LONGEST = 4  # idle times that may be longer than all others: hangs, checkpoints
# Ratio of idle time between steps to idle time inside a step. Equal buckets of recorded and simulated jobs: 1.9-15.
LONGER = 1.5
# Smallest number of steps in which idle times of layers repeat; in fewer, three or four random values look as similar.
GROUPS = 6
UNLIKE = 0.2  # difference of logarithms below which idle times are equal. Layers of sharded models: 0.4-0.6, equal steps: 0.01
ASTRAY = 0.1  # share of a step: farther from its place is another idle time in the step, or no whole number of steps
SILENT = 2.0  # steps: a longer silence is a hang or a restart
BROKEN = 0.2  # largest share of steps with more or fewer buckets than the others, because a job restarted
# Multiple of the longest idle time that a forward pass and one part of the backward explain: optimizer, data loading.
OTHERS = 2.0
