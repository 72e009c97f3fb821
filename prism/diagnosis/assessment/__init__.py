"""Assess a finding: its steps and ranks, its confidence (`confidence`), its root cause, and the hosts to isolate."""
