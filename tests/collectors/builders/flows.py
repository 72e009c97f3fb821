"""Flow records drawn at random, by start."""

import numpy as np
from hypothesis import strategies as st

from collectors.columns.record import COLUMNS, Flows

BOOKS = {
    "endpoints": ("10.0.0.1", "fd00::2", "10.0.0.3", "192.168.7.1"),
    "exporters": ("leaf0", "leaf, 1", ""),
    "paths": ((), ("leaf0",), ("leaf, 1", "spine0", 'the "leaf"')),
}
CODES = {"src": 4, "dst": 4, "exporter": 3, "path": 3}


@st.composite
def drawn(draw, most=30):
    n = draw(st.integers(0, most))
    chance = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns = {}
    for column in COLUMNS:
        top = CODES.get(column.name, min(int(np.iinfo(column.dtype).max), 2**62))
        columns[column.name] = chance.integers(0, draw(st.sampled_from([1, top])), n, dtype=np.int64)
    columns["start_ns"] = np.sort(columns["start_ns"])
    columns["end_ns"] = np.maximum(columns["end_ns"], columns["start_ns"])
    return Flows.build(columns, **BOOKS)
