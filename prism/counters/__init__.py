"""Jobs from port counters alone: time series of octets per switch port or NIC, without any flow.

Reading order: `samples` (what was polled) ← `formats` (gNMI, SNMP, Prometheus) ← `reading` (files, tables, sFlow); then `rates`
(one time grid) → `beating` (ports with one rhythm) → `portjobs` (jobs, periods, changes, odd ports). Ports of one job move at
the same times: the jitter of its steps is a fingerprint that other jobs lack.
"""
