"""Survey exporters and interfaces: their traffic, silent ones, and missing data for each analysis.

1. **survey** (`export_survey`): derive rates, sampling, timeouts and clock offsets from the records of each exporter;
2. **watch** (`live_survey`, `exporter_silence`): the same live, with interface counters and losses, in bounded memory;
3. **advise** (`missing_fields`): list missing data, the affected analysis, and the configuration line that adds it.
"""
