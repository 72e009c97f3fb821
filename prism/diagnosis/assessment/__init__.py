"""Assess findings: confidence, cost, root cause, hosts to isolate."""
