"""Compute throughput over time: Gbit/s of endpoints, pairs, links and switches, and of a finding's culprit and its peers."""
