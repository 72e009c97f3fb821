"""The time machine: any stretch that the store still holds is diagnosed again, and two jobs or two stretches are compared.

1. **span** (`time_spans`): when it is, as people write it;
2. **again** (`rediagnosis`): the records of that time go to a process of their own, as an upload does, with other hints if
   wished;
3. **compare** (`job_comparison`): what changed from one job to another: steps, phases, bandwidth, waits, ranks.
"""
