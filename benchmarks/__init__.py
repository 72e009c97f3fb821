"""Measure the accuracy of the analysis on captures with recorded truth, and the speed of collection and analysis."""
