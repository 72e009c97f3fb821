from __future__ import annotations

from collectors.columns.record import Flows
from prism.tracking.flow_sources import Memory


def test_records_by_time_and_by_endpoints() -> None:
    columns = {"start_ns": [30, 10, 20, 40], "src": [0, 1, 2, 0], "dst": [1, 0, 0, 1], "octets": [1, 2, 3, 4]}
    records = Memory(Flows.build(columns, endpoints=("a", "b", "c")))
    assert records.between(10, 40).octets.tolist() == [2, 3, 1]
    assert records.between(0, 99, limit=2).octets.tolist() == [2, 3]
    assert records.between(0, 99, endpoints={"a", "b"}).octets.tolist() == [2, 1, 4]
    assert len(records.between(50, 99)) == 0
