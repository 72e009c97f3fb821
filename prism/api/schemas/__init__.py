"""Schemas of requests and answers for OpenAPI; `openapi` adds examples and errors; findings as annotations for Grafana."""
