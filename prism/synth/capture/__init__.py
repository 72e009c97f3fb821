"""Simulated transfers as flow records, packets and captures, with what collection loses."""
