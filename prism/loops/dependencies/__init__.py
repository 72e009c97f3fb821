"""Loops that match each operation of a job with the earlier operations that it had to wait for."""
