"""List the possible layouts of a job and compute the probability of each from all evidence.

`hypotheses` enumerates complete layouts. `likelihood` and `scoring` compute their log-likelihoods. `posterior` turns them into
probabilities and alternatives. `inference` reports the likeliest with groups and streams.
"""
