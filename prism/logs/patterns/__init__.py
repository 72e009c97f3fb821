"""Find the cause of a failure in parsed logs by three patterns: lines that healthy runs lack, nodes that differ, time."""
