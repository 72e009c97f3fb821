"""How much moves, over time: `rate_series` of endpoints, pairs, links and switches; their `link_speeds`; a culprit beside its
peers.
"""
