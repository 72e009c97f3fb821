"""Phases of each rank in its steps: compute, communication, waiting."""
