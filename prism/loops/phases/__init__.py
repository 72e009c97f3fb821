"""Loops that find what each rank does within a step: activity, silences, readiness, owed traffic."""
