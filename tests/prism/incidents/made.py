"""Flows of a ring whose members stop one after another, and the job in them."""

import numpy as np

from collectors.columns.record import COLUMNS, FIN, Flows
from prism.model import Group, Job, JobDiagnosis, Layout, Pair, Parallelism, Spans, Timeline

MS = 1_000_000
NAMES = ("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")


def flows(rows, endpoints=NAMES):
    """Flow records from rows of start, end, src, dst, octets and other columns by name."""
    columns = {one.name: np.array([row.get(one.name, 0) for row in rows], one.dtype) for one in COLUMNS}
    return Flows.build(columns, endpoints=endpoints)


def ring(steps=6, stops=1, ahead=20, **last):
    """A ring of four that sends at the end of steps of 100 ms; in the last, rank `stops` sends `ahead` ms before the others."""
    rows = []
    for step in range(steps):
        for rank in range(4):
            at = (step * 100 + 80 + rank) * MS
            if step == steps - 1:
                at -= (ahead if rank == stops else 0) * MS
            rows.append(
                {"start_ns": at, "end_ns": at + 5 * MS, "src": rank, "dst": (rank + 1) % 4, "octets": 1000, "packets": 1}
            )
    rows += [{"start_ns": (steps * 100 + 50) * MS, "end_ns": (steps * 100 + 51) * MS, **row} for row in last.get("more", ())]
    return flows(rows)


def job(steps=6):
    """The job of such a ring."""
    begins = np.arange(steps) * 100 * MS
    own = np.stack([begins, begins + 100 * MS], axis=1)[:-1]
    spans = Spans(*(np.zeros(0, kind) for kind in (np.int64, np.int64, np.int32, np.int8, np.int32)))
    pairs = tuple(Pair(NAMES[i], NAMES[(i + 1) % 4], "dp", 1000) for i in range(4))
    layout = Parallelism(Layout(dp=4, confidence=0.9), (Group("dp", NAMES, "traffic", 1.0),), pairs)
    return JobDiagnosis(Job("j", NAMES, (), 0, steps * 100 * MS), layout, Timeline((own,) * 4, (), spans))


__all__ = ["FIN", "MS", "NAMES", "flows", "job", "ring"]
