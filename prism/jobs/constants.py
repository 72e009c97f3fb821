"""Constants of this folder. All are ratios or counts; none is a time or a number of octets."""

MIN_STEPS = 3  # two repetitions may be by chance; a window with fewer steps gives no result
SAMPLED_PAIRS = 8  # pairs of a cluster that are examined; all pairs of a collective move alike
TRIFLE = 1e-4  # share of an endpoint's octets per pair below which a pair is control traffic and joins no endpoints
BINS = 32  # parts of a step in which traffic of steps is compared; a burst lasts a tenth of a step or more
# A cluster is in lockstep with another if its repetition at the other's steps is at least this share of that at its own steps.
# Parts of one job reach 0.55 to 1.0, other jobs with other periods -0.1 to 0.4 (measured on 52 captures, 700 pairs). With less
# repetition at its own steps, these are no evidence against a hint.
LOCKED = 0.5
MOST_DRIFT = 0.1  # share of a step between the first and the last: parts of one job reach 0.07 without faults
# Share of a step between equal messages of two clusters that begin together. Parts of one job: up to 0.01, above 0.02 if their
# work varies; twins of one start with different shifts: 0.1 and more (60 simulated clusters).
TOGETHER = 0.01
EQUAL = 0.02  # relative deviation of an edge's octets per step that counts as equal: the tail of a message, a retransmission
RANDOM = 0.1  # variance over mean of records per step (Fano factor): 1 if they come at random, 0.05 if one in twenty is lost
CONSTANT = 0.1  # share of octets on edges of equal volumes; experts' exchange leaves 0.34, shuffles and RPC less than 0.05
LOPSIDED = 0.4  # share of octets that enter a host and do not leave, or the reverse: collectives up to 0.31, copies 0.5 to 1
SIDES = 1.5  # ratio of the sides of a complete bipartite graph: workers to parameter servers
LASTING = 0.25  # share of an edge's time: a connection that is open for less is that of a storage client
SMALL_GROUP = 3  # endpoints: of three, one that exchanges with the others is the middle of a chain, not a server
COMPLETE = 0.8  # share of all pairs of the two sides that exchange octets: workers use every parameter server
# Share of the time in which a rank, or the whole job, moves nothing: jobs compute at least as long. A recorded job with a slow
# NIC has 0.01, collectives back to back up to 0.002.
LEAST_COMPUTE = 0.005
