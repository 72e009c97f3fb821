"""Constants of files without compiled functions: unit, meaning and source of each number.

Files with compiled functions have theirs beside them.
"""

# Volumes.
EQUAL = 0.01  # relative difference of equal volumes: retransmissions, one message at the ends of the observed time

# Groups and rings.
TRIANGLE = 3  # members, or ranks: of fewer there is no ring and no odd one out

# Interrupted steps.
COMPLETE = 0.005  # share of a stream's octets that may be missing: retransmissions, padding
ORDER = 0.001  # share of a step: smaller differences of time show no order
NEGLIGIBLE = 0.1  # share of the smallest difference that shows an order
EXAMPLES = 4  # compared steps: fewer show no habit
ALWAYS_AT_END = 0.9  # share of the compared steps in which a rank is at an end of the data that was due first
MOSTLY_BLAMED = 0.6  # share of the compared steps in which one rank is to blame
SENDER_HUNG = 0.8  # probability that the sender hung, not the receiver, if nothing shows which: 7 of 8 runs, plus 1 of 2
MOST_STEPS = 0.8  # share of the compared steps: a habit
STEP_BORDER = 0.05  # share of a step: records this near to its border may belong to the other step
PROMPT, PROMPTEST = 4, 0.1  # ratio of a response time to the quantile of the promptest ones: slower ones waited
AFTER_READY = 0.1  # share of the time since the sender was ready: a send within it after the receiver's message waited for that
