"""Boards as plain values for pages and programs."""
