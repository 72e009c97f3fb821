"""Edges of made-up traffic, for tests of jobs."""

import numpy as np

from collectors.columns.record import Flows
from prism.jobs.cluster_periods import ClusterRhythm
from prism.loops.arrays.edges import edge_from, edges_of
from prism.loops.arrays.pair_volumes import Carried

MS = 1_000_000


def edge(src, dst, starts_ms, octets=1_000_000, *, lasts_ms=1.0):
    start = (np.asarray(starts_ms, float) * MS).astype(np.int64)
    size = np.broadcast_to(np.asarray(octets, np.int64), start.shape).copy()
    return edge_from((src, dst), np.arange(len(start)), start, start + int(lasts_ms * MS), size)


def rhythm(edges):
    """The rhythm of a cluster with only these edges."""
    columns = {name: np.concatenate([getattr(one, name[:-3] if name.endswith("_ns") else name) for one in edges])
               for name in ("start_ns", "end_ns", "octets")}  # fmt: skip
    for name in ("src", "dst"):
        columns[name] = np.repeat([getattr(one, name) for one in edges], [len(one.rows) for one in edges]).astype(np.int32)
    flows = Flows.build(columns, endpoints=tuple(f"e{k}" for k in range(max(one.src + one.dst for one in edges) + 1)))
    return ClusterRhythm(flows, tuple(sorted(edges_of(flows).values(), key=lambda one: -one.volume)))


def steps(count, period=100.0, *, jitter=0.0, seed=0, bursts=(0.0, 5.0, 40.0)):
    """When bursts begin in steps, ms, and when steps do."""
    chance = np.random.default_rng(seed)
    begins = np.cumsum(period * (1 + jitter * chance.standard_normal(count)))
    return (begins[:, None] + np.array(bursts)).ravel(), begins


def carried(*pairs):
    """(src, dst, octets) of steady pairs."""
    src, dst, volume = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    zero = np.zeros(len(pairs), np.int64)
    return Carried(np.zeros(0, np.int32), src, dst, zero + 9, zero, zero + 9, volume)
