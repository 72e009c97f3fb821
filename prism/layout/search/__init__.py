"""Enumerate the hypotheses about a job's layout, and score each against all evidence."""
