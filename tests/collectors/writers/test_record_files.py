import numpy as np
import pytest

from collectors.columns.record import Flows
from collectors.formats import text_files
from collectors.writers.record_files import Writer, write
from tests.collectors.builders.packets import rows_of


def flows(begin, n, paths=((), ("leaf0",))):
    start = np.arange(begin, begin + n)
    columns = {"start_ns": start, "end_ns": start + 5, "src": start % 3, "dst": start % 2, "path": start % len(paths)}
    return Flows.build(columns, endpoints=("10.0.0.1", "10.0.0.2", "10.0.0.3"), exporters=("leaf0", "a,b"), paths=paths)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.csv.zst", "a.jsonl", "a.jsonl.gz"])
def test_parts_make_the_same_dump_as_the_whole(tmp_path, name):
    with Writer(tmp_path / name, level=1, rows_at_once=3) as file:
        file.add(flows(0, 10))
        file.add(flows(10, 0))
        file.add(flows(10, 7))
        assert file.count == 17
    write(tmp_path / f"whole-{name}", flows(0, 17))
    parts, whole = text_files.read(tmp_path / name), text_files.read(tmp_path / f"whole-{name}")
    assert rows_of(parts[0]) == rows_of(whole[0])
    assert not parts[1]


def test_paths_may_grow(tmp_path):
    with Writer(tmp_path / "a.csv") as file:
        file.add(flows(0, 4))
        file.add(flows(4, 4, ((), ("leaf0",), ("leaf0", "spine0", "leaf1"))))
    read, _ = text_files.read(tmp_path / "a.csv")
    assert {read.paths[p] for p in read.path.tolist()} == {(), ("leaf0",), ("leaf0", "spine0", "leaf1")}


def test_a_bar_in_a_switch_s_name_is_refused(tmp_path):
    with Writer(tmp_path / "a.csv") as file, pytest.raises(ValueError, match="must not contain"):
        file.add(flows(0, 4, (("a|b",),)))
