"""List the possible layouts of a job and compute the probability of each from all evidence.

`search` enumerates complete layouts and scores each with what `features` compute. `answer` turns scores into probabilities and
alternatives, and reports the likeliest layout with groups and streams.
"""
