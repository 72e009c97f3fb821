"""What detectors observe: anomalies of edges, parts of steps, losses of switches, sharing of NICs."""
