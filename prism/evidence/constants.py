"""Constants of this folder. All are ratios or counts; none is a time or a number of octets."""

ALIKE_BURSTS = 1.3  # ratio of the median bursts of two connections of one conversation: TCP splits at any octet
ALIKE_LANES = 0.2  # difference of the logarithms of the counts of queue pairs that alternate; e^0.2 is 22 %
DISTINCT_SIZE = 0.01  # difference of logarithms of sizes that count as two
NEAR_SIZE = 1.15  # ratio below which another size is near: both may belong to traffic of varying size
NEARLY_ALL = 0.9  # share of a pair's messages in a few sizes above which the rest is by chance
MAGNITUDE = 1.0  # jump of the logarithm between two sizes of different traffic; a factor of e
LEAST_MESSAGES = 3
FEW_MESSAGES = 24  # with fewer messages, gaps in time show nothing
SAME_OCTETS = 1e-4  # difference of logarithms of the octets of pairs that send the same messages, none of which is lost
SAME_RECORDS = 1e-3  # difference of logarithms of the numbers of such messages, to which scalars add a little
PARTS_OF_LIFE = 6  # a steady size is present in all parts but one

EQUAL_VOLUME = 0.1  # difference of logarithms of volumes in one collective: one step more or less at the ends
SENT_AGAIN = 0.02  # difference of logarithms of the octets of a usual step: what TCP may send again
ONE_CLASS_SIZE = 0.02  # difference of logarithms of message sizes of one collective
LOOSE_SIZE = 0.7  # the same for bursts: a factor of 2
LIKE_TIMES = 0.5  # difference of logarithms of the share of a step in which bursts of one collective move: a factor of 1.6
RUN_PAUSE = 2.0  # durations of a message without one after which a new run begins, if two directions are compared
ALIKE_RUNS = 0.2  # difference of the logarithms of the runs per step of rounds of one reduction at most
NEW_RUN_GAP = 0.005  # share of a step without a message after which a new run begins
BINS_OF_SPREAD = 40  # bins per step
STREAMS_AT_ONCE = 1024  # streams whose rhythms are computed together: 8 kB of each table per step
BUSY = 0.05  # share of the busiest bin
TWO_WAYS = 2.0  # ratio of the octets of a pair's two directions if both carry payload
MOST_PAIRS = 0.8
PAIRS_TRIED = 8
HIDDEN_LEVELS = 3  # levels of halving and doubling inside a host of eight
OPEN = 0.2  # imbalance of a one-way communicator, or of an endpoint, above which a ring continues inside hosts
LIKE_MESSAGES = 1.1  # difference of logarithms of messages per step in one family: a factor of 3
AROUND = 0.05  # share of a step; the last messages of a step may follow its bound by less
FEW_SENDS = 6  # fewer messages give no reliable median
FINEST = 1e-5  # share of a step; smaller differences are clock errors
TWINS_TRIED = 8  # members of one host that are compared with one another
HOSTS_TRIED = 4  # hosts that are compared; 131 jobs have the same answers as with 16
TRIANGLE, SQUARE = 3, 4  # members of the smallest ring (of two, it is a hand-over and its return), and of the smallest cube
