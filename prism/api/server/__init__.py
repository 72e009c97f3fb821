"""The application: routes, pages, health, metrics and sessions put together (`application`), and its socket (`web_server`)."""
