"""Stacks of all ranks of a hung job: clusters, outliers, and the group to evict.

Reading order: `dumps` (py-spy and faulthandler) and `recorder` (Flight Recorder) → `clusters` → `eviction`. `folder` reads the
files. Source of the idea: ByteRobust (SOSP 2025), aggregation of stack traces and over-eviction by parallel group.
"""
