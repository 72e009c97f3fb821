"""Compiled loops that find what an operation waited for."""
