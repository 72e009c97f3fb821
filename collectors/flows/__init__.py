"""Follow packets to flow records, compiled."""
