"""What the records of a job show, before anybody says what it means: streams, steps, communicators and their families.

Nothing here is labelled DP, PP, TP, EP or CP: labels exist only in a hypothesis (`prism.layout`).
"""
