"""Compiled loops that find communicators: rings, trees, pairs in lockstep, hand-overs."""
