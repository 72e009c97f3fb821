"""Constants of this folder: unit, meaning and source of each number."""

RATE_NOISE = 0.02  # logarithm of a rate: least noise; medians of healthy bursts vary by about 2 %
EDGE_NOISE = 0.05  # logarithm of a rate: least spread between healthy edges
LEAST_SPAN = 3  # steps: least length of an incident; one or two may be hiccups
MOST_INCIDENTS = 8  # incidents of one window
NEARLY_AS_SLOW = 0.8  # share of the least deviation from which an edge belongs to the incident of a clearer one
LEAST_ALIKE = 4  # edges of one kind of traffic: fewer show no usual rate
APART = 4  # ratio to the spread between edges, from which an edge that is always slow counts
OTHER_STEPS = 6  # steps outside an incident: fewer do not show how much its edges vary
NEARLY_ALL_LONGER = 0.25  # quantile of the durations of the other steps that stands for nearly all of them
LEAST_PACKETS = 10  # lost packets: fewer are by chance
MORE_LOSSES = 4.0  # ratio of lost packets to the usual number, or to those of another suspect
LISTED_LOSSES = 8  # losses that a finding lists
