"""Measurements: how right the analysis is on captures with recorded truth, and how fast the capture side reads."""
