"""Account for lost time: GPU-hours by cause, host, switch and job over a week or a month, as tables and as a mail."""
