"""Parse log text in one pass with bounded memory (`log_scanner`).

Order: `log_envelopes` → `line_cleaning` → `line_prefixes` and `timestamps` (writer and time of a line) → `drain` (templates) →
`signatures` (the library of causes) → `iterations` (progress) → `tracebacks`. `log_facts` reads facts that join logs with
flows.
"""
