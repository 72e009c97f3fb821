"""Constants of the step search. All are counts or ratios; none is a time or a number of octets."""

BINS = 1 << 14  # bins of the traffic clock at most; a window of 1,000 steps has 16 bins per step
BURST_BINS = 32  # bins per burst of the largest connection: a step has a burst of each, so as many bins at least
LEAST_BINS = 1 << 13  # bins of the traffic clock at least; with a quarter of them, layers of sharded models are taken for steps
SEQUENCES = 64  # sequences that are compared, spread over all classes and members; more change no result
PAIRS_OF_CLASS = 8  # connections of a class that are compared at least; with two or three, a pipeline's steps begin elsewhere
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
RECORDS = 1 << 14  # records that are used for the mean step; of more, every third, fifth, ..., or fewer sequences
# Share of a step: largest distance of the idle time after a step from its place on the clock; half a layer of a ZeRO-3 model.
NEAR = 0.025
AT_BOUND = 1 / 128  # share of a step: distance of the first record from the idle time before it, in two phases of the mean step
# Powers of idle times between bursts: the higher one if the lower one does not show the steps of a job with a slow link.
POWERS = (2.0, 4.0)
LONGEST = 4  # idle times that may be longer than all others: hangs, checkpoints
# Ratio of idle time between steps to idle time inside a step. Equal buckets: 1.9-15; an optimizer after layers: 1.3.
LONGER = 1.2
# The same ratio where a scalar precedes the longest idle time, and the first record another: then that begins within a step.
# Four captures that begin there have 2.3 to 5; of 294 whole ones one loses a step by it. Also the ratio to the usual idle time
# to which pauses are limited where they hide the steps: with 1.5 to 5 the recording that showed it gives the same steps. Also
# that of other traffic between reductions of layers, in the forward pass to that beside one layer: n for n layers.
FAR_LONGER = 2.0
# Largest ratio of the durations of parts that are equal steps, whatever idle times are in them. In 200 recordings parts that
# are no steps have 1.34 to 6.1 (seven cases); equal steps that were taken for parts had 1.01.
EQUAL_PARTS = 1.05
BEGINNING = 0.15  # share of a job's traffic: the first copy of the model and slower steps, two of 14 or more
SOME_STEPS = 0.35  # share of the steps: a pause after more than these is still no part of each
# Ratio of a forward to a backward pass that recomputes activations, else 1/2. Equal buckets of 22 simulated jobs: 0.34-0.64.
FORWARD = 1 / 3
# Share of a micro-batch: least time of an optimizer. Four of one simulator take 0.027 to 0.12; steps after which a value is
# logged differ from others by less than 0.002.
OPTIMIZER = 0.01
# Smallest number of groups of equal parts, with a longer time after each, that are buckets of as many steps: pauses after
# several steps are few. Lags that repeat as often come first.
GROUPS = 6
SIGMAS = 3.0  # standard deviations of a repetition by chance: below, buckets or layers are no parts of a step
ASTRAY = 0.1  # share of a step: farther from its place is another idle time in the step, or no whole number of steps
# Share of a step by which ranks may end it before or after others, as stages without a common reduction do: with 0.15 one of
# 102 runs loses steps, with 0.4 none.
RUNS_AHEAD = 0.25
# Least share of the octets that divides into equal steps in whole recordings; in parts of one, some do by chance.
DIVIDES, DIVIDES_OF_CLOSED = 0.7, 0.5
SILENT = 2.0  # steps: a longer silence is a hang or a restart
# A sequence recurs if it moves octets in 3 of 12 parts of the job's time, and 0.7 of them or less in one part.
PARTS_OF_LIFE, LEAST_PARTS, ONE_PART = 12, 3, 0.7
ONE_VOLUME = 0.3  # as ONE_SIZE, for octets of whole connections: TCP retransmits, and a connection may begin or end in a step
CLASS_CELLS = 3  # cells of a class's relative distance in which sizes are sorted; adjacent classes are this many cells apart
LEAST_IDLE = 1e-3  # share of a step: shorter idle times count as none
WHOLE_JOB = 0.3  # weight of the whole job's idle time, relative to that of one class: it decides between equal classes only
IN_MOST_STEPS = 0.25  # share of the busiest phase: phases with less are those of a few steps
BRIEF = 1 / 16  # share of a step: largest duration of a scalar reduction
AT_ONE_PLACE = 0.5  # length of the mean direction of places in a step, 0-1: nearly 1 of a reduction, 1/√n of chance in n steps
SIGNALS_OF_A_STEP = 3  # scalar reductions of a step: loss, gradient norm, overflow check
DURING_PAYLOAD = 0.1  # share of the payload that moves in the phases of a scalar reduction; more is no pause of the payload
NEAR_HALF = 0.08  # share of the reduced octets: largest distance of the gather's begin from one half (ZeRO-1)
HARDLY_OTHERS = 0.03  # share of the other octets that may precede the gather's end
NEAR_THIRD = 0.05  # share of the reduced octets: distance from one third at which parameters are gathered (ZeRO-3)
LEAST_WEIGHT, MOST_WEIGHT = 0.1, 0.75  # weight of the sequences relative to the pace: both always have a say
LONGEST_LAG = 0.36  # share of the window: a longer lag does not repeat three times, with a margin for steps of unequal traffic
LAST_MULTIPLE = 0.75  # share of the window: multiples of the lag beyond it rest on too little traffic
LEAST_PLACES = 3  # places on the clock: two show no distance that repeats
# Shares of the steps: idle times are limited to those of nine in ten steps, so that a hang is a usual one.
MOST_STEPS, FEW_STEPS = 0.9, 0.1
WRITTEN = 0.01  # share of a step's octets that members send out of the job in a checkpoint; control traffic is less
AT_BEGIN = 0.1  # share of a step: a pause that begins within it delays the step's begin
RECORDS_AT_ONCE = 1 << 20  # records whose phases are computed together: 100 MB
