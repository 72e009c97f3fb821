"""Commands that read files and need no service: `logs`, `incident`, `stacks`, `metrics`, `counters`.

`command_io` reads the input files that several commands share, shows progress and writes results.
"""
