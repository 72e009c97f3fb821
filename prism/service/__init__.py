"""How programs find a running service, and what it gives to whom."""
