"""The analysis on several cores or machines."""
