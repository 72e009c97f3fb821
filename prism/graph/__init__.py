"""The event graph of a job: its transfers by step, what each waited for, which delays are new, and replay (what-if).

`job_steps` and `job_view` are one job per step and edge, as detectors and diagnosis see it.
"""
