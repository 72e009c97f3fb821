"""What every long-running command needs: log lines in logfmt, counters at `/metrics`, a stop flag for signal handlers."""
