"""Parse log text in one pass with bounded memory (`log_scanner`).

Order: `log_envelopes` → `line_cleaning` → `line_prefixes` and `timestamps` (who wrote a line, and when) → `drain` (templates) →
`signatures` (the library of causes) → `iterations` (progress) → `tracebacks`. `log_facts` reads what joins logs with flows.
"""
