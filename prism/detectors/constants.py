"""Constants of this folder: unit, meaning and source of each number. Thresholds are keyword arguments of the detectors."""

STEP_BORDER = 0.1  # share of a step's octets: a job that ends stops within this distance of a step border
LONG_STEP = 2_000_000_000  # ns: shorter steps need no early detection, two of them are over soon
UNCHANGED = 1.05  # ratio to the usual compute time, below which a message calls it unchanged
SEEN_SELDOM = 90.0  # percentile of a rank's work over steps, if its whole work is visible only in a tenth of them
QUEUE_FACTOR = 5.0  # ratio to the usual delay from which packets queue
