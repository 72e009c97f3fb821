"""Captures to flow records: decoder, flow table, paths through several switches."""
