"""Metrics of jobs and exporters for the monitoring that operators have: `/metrics` with a bounded number of series."""
