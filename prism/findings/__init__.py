"""Texts of findings: title, advice, measured values; and whether two findings are the same."""
