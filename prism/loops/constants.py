"""Constants of the loops: unit, meaning and source of each number."""

# Statistics.
MAD_TO_SIGMA = 1.4826  # ratio of the standard deviation to the median absolute deviation of a normal distribution
NOISE = 0.01  # share: least noise of a level; records are cut at other places in each step

# Intervals of a series that exceed the noise.
RARE = 0.05  # number of similar intervals in a window that chance may cause: the usual level of significance
TURNS = 4  # number of searches for an interval with holes; each doubles the level that its parts must reach
FULL = 0.75  # share of an interval's known steps at its level: with more holes, the high ones define the level
PIECE_STEPS = 512  # steps: longer series are searched in pieces, because the search takes the square of their length
MOST_SHIFTS = 16  # intervals of one series: limits the time of a search; reports list fewer

# Sums and orders.
KEYS = 1 << 12  # first room for different keys: a table of 64 KiB stays in the cache; it grows if there are more
SMALL_BIN = 16  # numbers: so few are sorted faster by insertion than by distribution
BURST = 8  # records of a connection that may become one: keeps the shape of a step of tens of records

# Pairs and connections.
BINS = 20  # parts of the observed time over which octets spread: 5 % each
RECURRENT = 3  # records: fewer show no repetition
AS_WIDE = 0.25  # share of the spread of the heaviest pair at either end: a broadcast, checkpoint or copy takes less
NO_SINGLE = 1.5  # parts of the time: traffic at one moment spreads over one, or two if it crosses a border
MOST_RESTARTS = 8  # times in a window at which all connections are new: more are short-lived connections
RENDEZVOUS = 1e-3  # share of the octets of the heaviest connection: less is exchange of addresses

# Transfers of equal size.
SAME_SIZE = 0.005  # relative difference below which sizes are equal: headers, a lost record of a few hundred
PART = 0.02  # share of a transfer below which a part does not count: headers and control data
SIZES = 16  # sizes to examine: a step has few kinds of transfers
WHOLLY = 0.7  # share of octet counts that must be transfers or parts of one: rests merge where the receiver was ready
WHOLE = 0.05  # tolerance of the number of transfers per step: octets at step borders
SMALL = 0.1  # share of all octets that are in small messages

# Pieces (micro-batches) of hand-overs.
PIECE_SLACK = 0.1  # share of a piece: octets of headers, a lost record
MOST_PIECES = 512  # pieces of a step: more than any published schedule has
WRONG = 0.05  # share of pieces that may contradict their number: lost records
ASKED = 256  # groups (steps of ranks) to examine: the share of wrong ones is then known to 1.4 %

# Volumes.
EQUAL = 0.01  # relative difference of equal volumes: retransmissions, one message at the ends of the observed time

# Groups and rings.

# Readiness.
AFTER_READY = 0.1  # share of the time since the sender was ready: a send within it after the receiver's message waited for that
