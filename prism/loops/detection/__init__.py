"""Compiled loops of detectors."""
