"""Texts of findings: title, advice, measured values; and the check whether two findings are the same."""
