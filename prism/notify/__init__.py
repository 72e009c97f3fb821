"""How notifications leave the service, where HTTP does not do: `smtp` sends them by SMTP."""
