"""Shared parts of long-running commands: log lines in logfmt, counters at `/metrics`, a stop flag for signal handlers."""
