"""Deliver notifications: webhooks to checked addresses, mail by SMTP; settings and silences in files."""
