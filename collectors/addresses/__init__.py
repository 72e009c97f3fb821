"""IP addresses as numbers, codes and texts."""
