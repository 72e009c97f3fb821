"""Texts of findings: title, advice, measured values, words of evidence; and the check whether two findings are the same."""
