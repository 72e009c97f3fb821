"""The numbers of this folder. All are ratios or counts; none is a time or a number of octets."""

HALF = 0.5
ALIKE_BURSTS = 1.3  # ratio of median bursts of two connections of one conversation: TCP cuts at will
ALIKE_LANES = 0.2  # difference of logarithms (count, size, volume) of queue pairs used in turn; e^0.2 is 22 %
ONE_SIZE = 0.03  # relative distance of messages of one size: headers and the last chunk's rounding
NEAR_SIZE = 1.15  # ratio up to which another size is near, so that the two may be of one varying kind
NEARLY_ALL = 0.9  # share of a pair's messages in a few sizes, that the rest is chance
A_FIFTH = 0.2
MAGNITUDE = 1.0  # jump of the logarithm between two sizes of different traffic; a factor of e
SIZES_OF_A_PAIR = 6
LEAST_MESSAGES = 3
FEW_MESSAGES = 24  # of fewer, gaps in time say nothing
PARTS_OF_LIFE = 6  # of which a steady size is in all but one

BINS = 4096  # of the traffic's life, in which activity is compared with itself
HARDLY_ANY = 0.02  # of the octets

EQUAL_VOLUME = 0.1  # difference of logarithms of volumes of streams of one collective: a step more or less at the ends
LOOSE_VOLUME = 0.15  # of bursts, which TCP cuts at will
ONE_CLASS_SIZE = 0.02  # difference of logarithms of message sizes of one collective
LOOSE_SIZE = 0.7  # of bursts of one collective; a factor of 2
ONE_REST = 0.005  # of a step without a message: a new burst begins
BINS_OF_SPREAD = 40  # of a step
BUSY = 0.05  # of the busiest bin
MOST_OF_EDGES = 0.4  # of a communicator's edges that another on some of them has at least
LIKE_SPREAD = 0.4  # of a step
LEAST_RING = 3  # edges that run one way: fewer are a hand-over there and back
ONCE = 0.15  # of a step: what moves in no more of it moves once
TWO_WAYS = 2.0  # ratio of the octets of a pair's directions, of which both carry
TWO_WAYS_VARYING = 5.0  # experts send unequal amounts
MOST_PAIRS = 0.8
PAIRS_TRIED = 24
HIDDEN_LEVELS = 3  # of halving and doubling, inside a host of eight
IN_TURN = 0.3  # overlap below which a pair's directions take turns
LIKE_MESSAGES = 1.1  # difference of logarithms of messages in a step, of one kind: a factor of 3
KINDS_APART = 3
FEW_SENDS = 6  # of fewer, a median is chance
TWINS_TRIED = 8  # of a host's members, which are compared with one another
HOSTS_TRIED, PEERS_TRIED = 16, 4  # hosts and communicators, and streams of each, that are looked at: more say the same
