"""Assess a finding: the time it cost (`cost`), how sure it is (`confidence`), its root cause, the hosts to isolate."""
