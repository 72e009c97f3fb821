"""Texts of findings, and whether two findings are the same."""
