"""Why no job is seen: what each exporter and interface sends, and what it lacks for which analysis.

1. **survey** (`export_survey`): records of each exporter come to rates, sampling, timeouts, clock offsets;
2. **watch** (`live_survey`): the same live, with what interfaces count and what was lost, in bounded memory;
3. **advise** (`missing_fields`): what is missing, for what, and the configuration line that changes it.
"""
