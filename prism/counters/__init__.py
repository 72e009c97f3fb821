"""Jobs from port counters alone: time series of octets per switch port or NIC, without any flow.

Reading order: `counter_samples` (what was polled) ← `counter_formats` (gNMI, SNMP, Prometheus) ← `counter_files` (files,
tables, sFlow); then `counter_rates` (one time grid) → `port_rhythms` (ports with one rhythm) → `port_jobs` (jobs, periods,
changes, odd ports). Ports of one job move at the same times: the jitter of its steps is a fingerprint that other jobs lack.
"""
