"""Steps of simulated training: operations, collectives, faults, and transfers on the fabric."""
