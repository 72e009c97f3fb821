import pyarrow as pa
import pytest
from typer.testing import CliRunner

from collectors.cli import commands
from collectors.columns.record import COLUMNS, Flows
from collectors.formats import text_files
from collectors.writers.arrow import ROWS
from collectors.writers.record_files import write


def table(path):
    with pa.ipc.open_file(str(path)) as file:
        return file.read_all()


def test_records_are_rows_of_our_columns(tmp_path):
    n = ROWS + 3
    columns = {"start_ns": range(n), "end_ns": range(1, n + 1), "src": [0] * n, "dst": [1] * n, "octets": [7] * n}
    flows = Flows.build(columns | {"exporter": [0] * n}, endpoints=("10.0.0.1", "10.0.0.2"), exporters=("leaf0",))
    write(tmp_path / "a.arrow", flows)
    found = table(tmp_path / "a.arrow")
    assert found.column_names == [c.name for c in COLUMNS]
    assert (len(found), found.column("octets").to_pylist()) == (n, [7] * n)
    assert found.slice(n - 1).select(["start_ns", "src", "dst", "exporter"]).to_pylist() == [
        {"start_ns": n - 1, "src": "10.0.0.1", "dst": "10.0.0.2", "exporter": "leaf0"}
    ]


def test_convert_writes_the_same_as_to_csv(tmp_path):
    (tmp_path / "in.csv").write_text(
        "start_ns,end_ns,src,dst,octets,path\n1,2,10.0.0.1,10.0.0.2,3,leaf0|spine0\n4,5,10.0.0.2,::1,6,\n"
    )
    for name in ("out.arrow", "again.csv"):
        done = CliRunner().invoke(commands.app, ["convert", str(tmp_path / "in.csv"), str(tmp_path / name)])
        assert done.exit_code == 0, done.output
    rows = table(tmp_path / "out.arrow").to_pylist()
    flows = text_files.read(tmp_path / "again.csv")[0]
    assert [row["octets"] for row in rows] == flows.octets.tolist()
    assert [row["dst"] for row in rows] == [flows.endpoints[i] for i in flows.dst] == ["10.0.0.2", "::1"]
    assert [row["path"] for row in rows] == ["leaf0|spine0", ""]


def test_a_name_that_could_not_be_read_back(tmp_path):
    flows = Flows.build({"start_ns": [1], "exporter": [0]}, endpoints=("a",), exporters=("x\ny",))
    with pytest.raises(ValueError, match="line end"):
        write(tmp_path / "a.arrow", flows)
