"""Find the cause of lost time: list candidates, compute how much of the new delays each explains, and report the best one.

`candidates` lists causes. `comparisons` and `explained_delay` compute what each explains. `slow_steps` finds the steps.
`confirmation` checks the claims of detectors against the result. `verdicts` writes the findings. `finding_cost` computes
the cost of a detector's claims, `assessment` the confidence.
"""
