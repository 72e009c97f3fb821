"""Analyse recordings: captures, dumps, simulated runs, and recordings played as if live."""
