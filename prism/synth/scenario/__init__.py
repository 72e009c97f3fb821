"""What is simulated: the specification and presets, the cluster, the places of ranks, the pipeline schedule."""
