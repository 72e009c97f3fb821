"""Simulate steps of training: operations, collectives, faults, and transfers on the fabric."""
