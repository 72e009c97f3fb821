"""The composition of the service, and commands that look at a whole machine."""
