"""Ranks in order of what they did: `deviation` from their own past and from their peers."""
