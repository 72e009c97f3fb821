"""Constants of the step search. All are counts or ratios; none is a time or a number of octets."""

BINS = 1 << 14  # of the traffic clock; a window of 1,000 steps keeps 16 bins a step
SEQUENCES = 64  # sequences that are compared, spread over all classes and members; more change no answer
PHASES = 256  # parts of the mean step; the shortest operation that is told apart is 0.4 % of a step's traffic
SCALES = tuple(2**k for k in range(9))  # bins of smoothing; lags of 8 to 64 times as many are judged by each
TREND = 32  # times the smoothing: what changes more slowly is a trend (a slow link), not a step
NEAR_BEST = (
    0.85  # of the best repetition: the shortest lag that repeats so well is a step. True ones 0.92-1, most parts <= 0.75
)
LEAST = 0.45  # repetition of a step, 0-1: 0.48-0.99 in whole recordings of jobs; of noise below it in 39 of 40 draws
SMALL = 0.02  # share of the octets: a class that moves less reduces scalars (loss, norm), or only signals
ONE_SIZE = 0.03  # relative distance of message sizes of one class: headers, and the last chunk's rounding
ACTIVE = 0.05  # of a sequence's busiest phase: below, it rests
WHOLE = 0.9  # of a step's traffic: a first or last step with less was cut by the window
STRETCH = 0.4  # relative difference of a step's traffic from the usual: more is another word
RECORDS = 1 << 18  # records that are looked at for the mean step: of more, every second, third, ...
NEAR = 0.025  # of a step: how far from its place on the clock the rest after a step may be; half of a layer of a ZeRO-3 model
POWERS = (2.0, 4.0)  # of rests between bursts: the higher where the lower does not show the steps of a job with a slow link
LONGEST = 4  # rests that may be longer than all others: hangs, checkpoints
LONGER = 1.5  # times the rests inside a step: the rest between steps. Equal buckets of recorded and simulated jobs: 1.9-15
GROUPS = 6  # steps in which rests of layers repeat, at least: of fewer, three or four that vary at random look as alike
UNLIKE = 0.2  # of the logarithm: rests that differ by less are equal. Layers of sharded models: 0.4-0.6, equal steps: 0.01
ASTRAY = 0.1  # of a step: what is farther from its place is another rest of the step, or no whole number of steps
SILENT = 2.0  # steps: who is silent for so long hung, or was started anew
BROKEN = 0.2  # share of the steps that may hold more or fewer buckets than the others, because a job was started anew
OTHERS = (
    2.0  # times the longest rest that a forward pass and one part of the backward explain: the optimizer, and loading of data
)
