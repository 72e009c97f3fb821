"""Whole-job hypotheses: how a job may be parallelised, and how probable each layout is, given all of its evidence.

`hypotheses` lists them, `likelihood` and `scoring` weigh them, `posterior` reports probabilities and alternatives. `labels`
labels communicators one by one; `comparison` compares the layout that follows from the labels with all hypotheses.
"""
