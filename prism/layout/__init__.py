"""Whole-job hypotheses: how a job may be parallelised, and how probable each way is, given all of its evidence."""
