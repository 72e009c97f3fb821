"""Time machine: diagnose any stored time span again, and compare two jobs or two time spans.

1. **choose** (`time_spans`): the time span, in common notations of time;
2. **diagnose again** (`rediagnosis`): its records go to a separate process, like an upload (`uploads`), with other hints if
   requested;
3. **compare** (`job_comparison`): differences of two jobs in steps, phases, bandwidth, waits, ranks.
"""
