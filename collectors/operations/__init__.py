"""What every long-running command needs: log lines, metrics, a flag for signals."""
