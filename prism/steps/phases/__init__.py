"""Compute phases of each rank within its steps (`rank_phases`): compute, communication, waiting; from gaps and pipeline
turns.
"""
