"""Constants of this folder: unit, meaning and source of each number."""

SLACK = 0.005  # share: difference of volumes that should be equal, from retransmissions and step borders
UNKNOWN_RATE = 100  # packets per sample, if the exporter does not say: a low rate of data-center switches
AGGREGATED = 0.25  # power of the share of time with traffic: records that carry it half of the time are 84 % complete
MISSING = 8  # factor on the share of missing records: 1 % of them leave 92 % of the confidence
CHANCE = 4  # score, robust standard deviations: one this much higher is e times less often by chance
ISOLATED = 0.9  # probability that the isolated hosts contain the cause
LISTED_HOSTS = 8  # alternatives that a finding lists
NO_SUSPECT = 0.02  # probability that the cause is none of the suspects: traffic outside the network misled the evidence
LEAST_TIME = 1e-6  # ms: least distance of closes
SHARED_TIME = 0.25  # share of the shorter of two findings in which they overlap
