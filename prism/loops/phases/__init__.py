"""Compiled loops that find what a rank does in its steps."""
