"""One incident from two witnesses: what the logs of a run say, and what its flows show.

Reading order: `first_silence` (who fell silent first, and whether the network was at fault) and `node_mapping` (which node is
which endpoint) → `log_flow_checks` (what logs and flows disagree about) → `incident` (the joint verdict) → `incident_page`
(one page). `log_hints` writes what logs say as hints for the layout.
"""
