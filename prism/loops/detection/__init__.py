"""Loops that the diagnosis uses: lateness, own work, delays, equal transfers."""
