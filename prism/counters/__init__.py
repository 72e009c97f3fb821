"""Find jobs from port counters alone: time series of octets per switch port or NIC, without flows.

Reading order: `counter_samples` (polled values) ← `counter_formats` (gNMI, SNMP, Prometheus) ← `counter_files` (files, tables,
sFlow); then `counter_rates` (common time grid) → `port_rhythms` (ports with one rhythm) → `port_jobs` (jobs, periods, changes,
odd ports). Ports of one job move octets at the same times: the jitter of its steps distinguishes it from other jobs.
"""
