"""Find the cause of a failure in parsed logs: across jobs, across nodes, over time."""
