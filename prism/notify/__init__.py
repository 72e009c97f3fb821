"""How notifications leave the service, where HTTP does not do: `mail` sends them by SMTP."""
