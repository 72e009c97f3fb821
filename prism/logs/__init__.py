"""Training logs read beside flows: failure-indicating lines, nodes, stage, iteration and cause.

Reading order: `line_cleaning` → `line_prefixes` and `timestamps` (who wrote a line, and when) → `drain` (templates) →
`signatures` (the library of causes) → `iterations` (iterations) → `tracebacks` (tracebacks) → `log_scanner` (one pass over a
stream) → `log_diagnosis` (the three patterns of L4: cross-job, spatial, temporal) → `log_report`. Inputs: `log_reader`,
`log_envelopes`, `loki`. `log_facts` reads what joins logs with flows. Source of the three patterns: L4, arXiv 2503.20263.
"""
