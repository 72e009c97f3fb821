"""Extract unlabelled evidence from the records of a job: streams, step period, communicators, families, turn-taking.

Nothing here is labelled DP, PP, TP, EP or CP. Labels exist only in a hypothesis (`prism.layout`).
"""
