"""Compiled loops that find the period of a stream."""
