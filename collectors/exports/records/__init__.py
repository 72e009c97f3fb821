"""Exported records: elements, templates, values, running totals, times."""
