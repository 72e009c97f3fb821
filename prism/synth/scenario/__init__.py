"""What is simulated: the specification, the cluster, the placement of ranks, the pipeline schedule."""
