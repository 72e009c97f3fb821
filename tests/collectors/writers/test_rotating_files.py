import time

import numpy as np
import pytest

from collectors.columns.record import Flows
from collectors.formats import text_files
from collectors.operations.metrics import flat
from collectors.writers import record_files, rotating_files
from collectors.writers.rotating_files import Rotating, by_start
from tests.collectors.builders.packets import rows_of


def some(count, *, first=0, endpoints=("10.0.0.1", "10.0.0.2"), exporters=("leaf0",)):
    columns = {"start_ns": first + np.arange(count)[::-1], "src": np.zeros(count), "dst": np.full(count, len(endpoints) - 1)}
    columns |= {"end_ns": columns["start_ns"] + 1, "octets": np.full(count, 7)}
    return Flows.build(columns, endpoints=endpoints, exporters=exporters)


def rotating(folder, **knobs):
    return Rotating(folder, record_files.write, suffix=".csv", **knobs)


def read(folder):
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    return [text_files.read(path)[0] for path in sorted(folder.iterdir())]


def test_a_file_ends_after_so_many_records(tmp_path):
    sink = rotating(tmp_path, rows=10, seconds=3600)
    for i in range(5):
        sink.write(some(4, first=100 - i))
        sink.write(some(0))
    assert [len(flows) for flows in read(tmp_path)] == [12]
    sink.close()
    files = read(tmp_path)
    assert [len(flows) for flows in files] == [12, 8]
    assert all(np.all(np.diff(flows.start_ns) >= 0) for flows in files)
    assert flat(sink.counts()) == {"sink_records_kept": 20, "sink_waiting": 0, "sink_files": 2}


def test_a_file_ends_after_a_while(tmp_path):
    sink = rotating(tmp_path, seconds=60)
    sink.write(some(4))
    sink.tick(time.time_ns())
    assert not read(tmp_path)
    sink.tick(time.time_ns() + 61 * 10**9)
    assert [len(flows) for flows in read(tmp_path)] == [4]
    sink.tick(time.time_ns() + 10**15)
    sink.close()
    assert len(read(tmp_path)) == 1


def test_names_of_files_are_in_order_and_differ(tmp_path):
    sink = rotating(tmp_path, rows=1)
    for i in range(12):
        sink.write(some(1, first=i))
    sink.close()
    assert [int(flows.start_ns[0]) for flows in read(tmp_path)] == list(range(12))


def test_a_disk_that_refuses_loses_nothing_at_first_and_what_is_lost_is_counted(tmp_path, monkeypatch):
    full = [True]

    def write(path, flows):
        if full[0]:
            raise OSError(28, "No space left on device")
        record_files.write(path, flows)

    monkeypatch.setattr(rotating_files, "PATIENCE", 3)
    sink = Rotating(tmp_path, write, suffix=".csv", rows=10, seconds=3600)
    sink.write(some(10))
    sink.write(some(10))
    assert (sink.waiting, sink.kept) == (20, 0)
    full[0] = False
    sink.tick(time.time_ns() + 3600 * 10**9)
    assert (sink.waiting, sink.kept) == (0, 20)
    full[0] = True
    for _ in range(3):
        sink.write(some(10))
    assert sink.dropped == {"no space left on device": 30}
    sink.write(some(5))
    sink.close()
    assert (sink.waiting, sink.kept, sink.dropped["no space left on device"]) == (0, 20, 35)
    assert len(read(tmp_path)) == 1
    assert flat(sink.counts())["sink_records_dropped_no_space_left_on_device"] == 35


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(NotADirectoryError):
        rotating(tmp_path / "no")


def test_dictionaries_that_grow_are_taken_as_they_are():
    parts = [some(3), some(2, endpoints=("10.0.0.1", "10.0.0.2", "10.0.0.3")), some(1, endpoints=("10.0.0.9",))]
    grown = by_start(parts[:2])
    assert grown.endpoints == ("10.0.0.1", "10.0.0.2", "10.0.0.3")
    assert rows_of(grown) == sorted(rows_of(parts[0]) + rows_of(parts[1]))
    mixed = by_start(parts)
    assert rows_of(mixed) == sorted(row for part in parts for row in rows_of(part))
    assert set(mixed.endpoints) == {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.9"}
