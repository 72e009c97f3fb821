"""The time machine: any stretch that the store still holds is diagnosed again, and two jobs or two stretches are compared.

1. **choose** (`time_spans`): the stretch, as people write times;
2. **diagnose again** (`rediagnosis`): its records go to a process of their own, as an upload does (`uploads`), with other hints
   if wished;
3. **compare** (`job_comparison`): what changed from one job to another: steps, phases, bandwidth, waits, ranks.
"""
