"""Assess a finding: its cost (`cost`), its confidence (`confidence`), its root cause, and the hosts to isolate."""
