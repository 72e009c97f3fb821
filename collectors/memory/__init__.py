"""Bound and keep the memory of a process."""
