"""Attribute lost time to its cause: candidates, how much of the new delays each explains, and the findings."""
