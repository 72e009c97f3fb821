"""Loops that find communicators among pairs: lockstep, rings, halving and doubling, all-to-all, pipeline hand-overs."""
