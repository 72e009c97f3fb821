"""Find the cause of lost time: each candidate, what it explains of the new delays, and the one that explains most.

`candidates` lists causes, `comparisons` and `explained_delay` measure what each explains, `slow_steps` finds when,
`confirmation` holds claims of detectors against it, `verdicts` writes the findings. `assessment` has cost and confidence.
"""
