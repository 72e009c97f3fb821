"""Loops over records, intervals, groups and graphs that other loops use: sums, medians, unions, change points."""
