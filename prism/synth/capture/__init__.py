"""Convert simulated transfers to flow records, or to packets as mirror ports capture them, minus collection losses."""
