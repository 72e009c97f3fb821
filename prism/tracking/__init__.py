"""Follow jobs, cases, gaps and records from window to window. `board` is the state at one moment.

`job_tracking` and `case_tracking` update jobs and findings, `identity` matches jobs of two windows, `collection_gaps` excludes
time without records, `substeps` checks whether detected steps are only parts of steps.
"""
