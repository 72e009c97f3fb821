"""Routes that read: boards, jobs, findings, rates, exporters, reports, search, and the stream of events."""
