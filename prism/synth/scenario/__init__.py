"""Describe the simulated scenario: specification and presets, cluster, places of ranks, pipeline schedule."""
