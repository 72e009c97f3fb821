"""Constants of this folder: unit, meaning and source of each number."""

WHOLE = 0.02  # share of a step or message: largest distance of octets from a whole number of equal ones; a lost record is more
NEAR = 0.1  # share of a transfer or wait: shorter parts and distances from its ends show nothing; records are cut in many ways
MODEL = 0.2  # quantile of step durations that defines usual steps; faults of up to three in four steps do not move it
FEW = 2  # steps: least number that defines what is usual, and of slow ones at the end of the records, which may go on
ALIKE = 0.05  # natural logarithm: largest difference of octets per step between peers
TRIFLE = 0.001  # share of the busiest lane: lanes with fewer octets carry barriers and scalars, whose waits are of all ranks
UNLIKE = 0.1  # share of the time: usual difference between healthy connections of one kind, and between healthy steps
CLOSE = 0.01  # natural logarithm: steps this close to usual ones are usual; medians of healthy steps vary as much
SOON = 0.0005  # share of a step: events this close together are simultaneous
MANY = 8  # steps, or peers: largest number that defines what is usual; with 16 no finding of 300 captures is right more often
PAUSE = 0.25  # share of a step: least excess of a silence that is a pause
WAIT_END_NS = 200_000  # ns: as NEAR, for short waits
SPAN = 3  # steps of a span of unusual ones, and peers: of fewer, each may differ by chance
BULK = 0.01  # share of a rank's octets in the job: more to an endpoint outside is work, for example a checkpoint
LONG = 1.5  # ratio to usual: longer silences are pauses, longer steps no examples, such slowdowns critical
CHAINS = 64  # pipelines that are compared: with more, the median of a stage moves by less than a fifth of its spread
WAITS = 0.5  # how much senders wait for late receivers at least: as libraries without buffers do, as likely as not
FORWARD_SHARE = 1 / 3  # of a micro-batch, where no inner stage shows it: a backward has two products for each of a forward
# Ratio of how far records of a collective begin apart to how far they end apart, above which they begin with calls: transfers
# of 72 captures have up to 3.3, the calls of 29 simulated logs 29 or more.
CALLED = 8.0
