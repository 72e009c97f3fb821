"""Commands that run until they are stopped: `capture_command`, `listen_command`, and their common session.

A session opens the sink, the metrics and the signal handlers, and prints the totals at the end.
"""
