"""Metrics of jobs and exporters for the tools that operators have: `job_metrics` for `/metrics`, bounded in number."""
