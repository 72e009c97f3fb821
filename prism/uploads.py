"""Uploads."""


class Uploads:
    """Uploads."""
