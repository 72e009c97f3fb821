"""Compute what supports or contradicts a hypothesis about a layout: how families fit kinds, and how families compare."""
