"""Which exporter and interface sends what, which have fallen silent, and what each lacks for which analysis.

1. **survey** (`export_survey`): records of each exporter come to rates, sampling, timeouts, clock offsets;
2. **watch** (`live_survey`, `exporter_silence`): the same live, with counters of interfaces and losses, in bounded memory;
3. **advise** (`missing_fields`): what is missing, for what, and the configuration line that changes it.
"""
