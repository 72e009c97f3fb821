"""Loops that find each rank's activity in a step: transfers, gaps, readiness, owed traffic."""
