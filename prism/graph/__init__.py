"""The event graph of a job: transfers by step, the dependencies of each, new delays, and replay (what-if).

`job_steps` and `job_view` describe one job by step and edge.
"""
