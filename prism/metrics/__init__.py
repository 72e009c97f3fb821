"""Measure jobs from traffic alone: effective training time, lateness, void share, bandwidth, work, regressions."""
