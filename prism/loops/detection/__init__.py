"""Loops that detectors and diagnosis use: lateness, own work, delays, unfinished transfers, overdue ranks."""
