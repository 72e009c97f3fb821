"""What the records of a job show, without labels: streams, step period, communicators, families, turn-taking.

Nothing here is labelled DP, PP, TP, EP or CP: labels exist only in a hypothesis (`prism.layout`).
"""
