"""Metrics of jobs and exporters for the tools that operators have: `jobs` for `/metrics`, bounded in number."""
