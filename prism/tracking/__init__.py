"""Follow jobs, cases, gaps and records from window to window; `board` is what is known at one moment.

`job_tracking` and `case_tracking` carry jobs and findings on, `identity` matches jobs of two windows, `collection_gaps`
excludes time without records, `substeps` checks whether detected steps are only parts of steps.
"""
