"""What a running service shows to whom (`service_settings`, `tokens`), and how commands find and ask it."""
