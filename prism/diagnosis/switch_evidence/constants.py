"""Constants of this folder: unit, meaning and source of each number."""

LEAST_PACKETS = 10  # lost packets: fewer are by chance
MORE_LOSSES = 4.0  # ratio of lost packets to the usual number, or to those of another suspect
LISTED_LOSSES = 8  # losses that a finding lists
QUEUE_FACTOR = 5.0  # ratio to the usual delay from which packets queue
LONGEST_QUEUE = 0.25  # ratio to the longest delay: shorter queues are behind another one
