"""The application with its pages, health and sessions, and the socket that it is served on."""
