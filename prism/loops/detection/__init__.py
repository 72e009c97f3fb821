"""Loops that the diagnosis uses: lateness, own work, delays, unfinished transfers, overdue ranks."""
