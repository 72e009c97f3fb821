from collectors.columns.record import COLUMNS, Flows
from collectors.formats.parquet import write_parquet
from prism.tracking.flow_sources import Memory
from prism.workers.flow_dumps import Dumps
from tests.prism.traffic import Wire, training


def test_what_is_asked_of_dumps_is_what_memory_tells(tmp_path):
    flows = Memory(training(dp=4, wire=Wire(tcp=True)).flows()).flows
    paths = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    half = flows.start_ns < flows.start_ns[len(flows) // 2]
    for path, rows in zip(paths, (half, ~half), strict=True):
        write_parquet(path, flows.take(rows), rows_at_once=99)
    dumps = Dumps([("", str(path)) for path in paths])
    low, high = flows.start_ns[5], flows.start_ns[-5]
    for asked in ({}, {"endpoints": flows.endpoints[:2]}, {"limit": 7}):
        found, expected = (records.between(int(low), int(high), **asked) for records in (dumps, Memory(flows)))
        assert len(found) > 0
        for column in COLUMNS:
            assert getattr(found, column.name).tolist() == getattr(expected, column.name).tolist()
        assert found.endpoints == flows.endpoints


def test_no_dumps_hold_nothing():
    assert isinstance(Dumps([]).between(0, 9), Flows)
    assert len(Dumps([]).between(0, 9)) == 0
