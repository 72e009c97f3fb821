"""Training logs read beside flows: failure-indicating lines, nodes, stage, iteration and cause.

Reading order: `cleaning` → `prefixes` and `stamps` (who wrote a line, and when) → `drain` (templates) → `signatures`
(the library of causes) → `progress` (iterations) → `blocks` (tracebacks) → `scanning` (one pass over a stream) →
`diagnosis` (the three patterns of L4: cross-job, spatial, temporal) → `told`. Inputs: `reading`, `wrapped`, `loki`.
`facts` reads what joins logs with flows. Source of the three patterns: L4, arXiv 2503.20263.
"""
