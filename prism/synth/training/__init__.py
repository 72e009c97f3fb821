"""Simulated steps of training: operations, collectives, faults, transfers on the fabric."""
