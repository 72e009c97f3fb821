"""Compile loops with numba: decorators, warm-up, what they share."""
