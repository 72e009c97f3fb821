"""Throughput over time: Gbit/s of endpoints, pairs, links and switches; the culprit of a finding beside its peers."""
