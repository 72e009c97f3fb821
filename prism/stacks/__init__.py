"""Cluster the stacks of all ranks of a hung job, find outliers, and choose the group to evict.

Reading order: `stack_dumps` (py-spy and faulthandler) and `flight_recorder` (Flight Recorder) → `stack_clusters` → `eviction`.
`stack_folders` reads the files. `collection_triggers` decides when to collect stacks; `stack_collection` collects them. Source
of the idea: ByteRobust (SOSP 2025), aggregation of stack traces and over-eviction by parallel group.
"""
