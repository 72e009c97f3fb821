"""Run the analysis on several cores or machines: independent parts of a cluster go to any executor."""
