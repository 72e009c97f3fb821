"""The numbers of this folder. All are ratios or counts; none is a time or a number of octets."""

MIN_STEPS = 3  # steps; two repetitions may be chance, and a window that shows fewer says nothing
SAMPLED_PAIRS = 8  # pairs of a cluster whose records are looked at; every pair of a collective moves alike
TRIFLE = 1e-4  # share of an endpoint's octets per pair below which a pair joins nobody: control traffic
BINS = 32  # parts of a step in which traffic is compared with that of other steps; a burst lasts a tenth of a step or more
LOCKED = 0.5  # of how well a cluster repeats at its own steps, how well it must repeat at another's to be locked to it:
# parts of one job reach 0.55 to 1.0, strangers of other periods -0.1 to 0.4 (measured on 52 captures, 700 pairs)
MOST_DRIFT = 0.1  # of a step, between the first and the last: parts of one job reach 0.07 where no fault moves them
ALIKE = 0.5  # correlation of the lengths of steps: two jobs have 0 by chance, parts of one job 0.5 to 1
EQUAL = 0.02  # relative deviation of an edge's octets per step that is equal: the tail of a message, a retransmission
CONSTANT = 0.1  # share of octets on edges of equal volumes; experts' exchange leaves 0.34, shuffles and RPC less than 0.05
LOPSIDED = 0.3  # share of octets that enter a host and do not leave, or the reverse: collectives reach 0.25, copies 0.5 to 1
OPEN = 0.2  # the same of one endpoint, beyond which a ring goes on inside the host
SIDES = 1.5  # ratio of the sides of a complete two-sided graph: workers to servers of parameters
