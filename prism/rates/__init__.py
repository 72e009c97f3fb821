"""How much moves, over time: `series` of endpoints, pairs, links and switches; their `speeds`; a culprit beside its peers."""
