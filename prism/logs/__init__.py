"""Diagnose failed runs from training logs: failure-indicating lines, nodes, stage, iteration and cause.

`log_reader` and `loki` read, `parsing` parses, `patterns` finds the cause; `log_files_diagnosis` does all three, `log_report`
prints the result. Source of the three patterns: L4, arXiv 2503.20263.
"""
