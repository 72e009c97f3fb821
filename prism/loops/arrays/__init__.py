"""Compiled loops over records, intervals and graphs."""
