"""Phases of each rank within its steps (`rank_phases`): compute, communication, waiting; from silences and pipeline turns."""
