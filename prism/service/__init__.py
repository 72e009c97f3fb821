"""Define what a running service shows and to whom (`service_settings`, `tokens`), and how commands find and query it."""
