"""Reports for people: GPU-hours lost by cause, host, switch and job; repeat offenders; as tables, pages and mails."""
