"""Join the logs of a failed run with its flows.

Reading order: `first_silence` (which endpoint stopped first, and whether the network failed) and `node_mapping` (nodes to
endpoints) → `log_flow_checks` (contradictions) → `incident` (joint verdict) → `incident_page` (HTML page). `log_hints` writes
facts from logs as hints for the layout.
"""
