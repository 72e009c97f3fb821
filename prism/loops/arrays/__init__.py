"""Loops over records, intervals, groups and graphs that all other loops use: sums, medians, unions, change points."""
