import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from collectors.cli import commands
from collectors.formats import file_types
from collectors.writers.record_files import write
from tests.collectors.builders.packets import rows_of
from tests.collectors.writers.test_record_files import flows


def run(*words):
    return CliRunner().invoke(commands.app, [str(word) for word in words])


def test_convert(tmp_path):
    write(tmp_path / "a.csv", flows(0, 9))
    with open(tmp_path / "a.csv", "a") as file:
        file.write("1,2\n")
    result = run("convert", tmp_path / "a.csv", tmp_path / "b.parquet")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "wrote 9 flow records\nskipped: columns are missing: 1\n"
    assert rows_of(file_types.open_records(tmp_path / "b.parquet").flows()) == rows_of(flows(0, 9))


def test_columns(tmp_path):
    (tmp_path / "a.csv").write_text("at,from,to,n\n1,10.0.0.7,10.0.0.8,5\n")
    (tmp_path / "c.yaml").write_text("{start_ns: at, end_ns: at, src: from, dst: to, octets: n}")
    result = run("convert", tmp_path / "a.csv", tmp_path / "b.csv")
    assert (result.exit_code, result.stderr) == (
        2,
        f"prism-collect: {tmp_path}/a.csv, line 1: missing column start_ns, end_ns, src, dst, octets; "
        "its columns: at, from, to, n; map them with --columns\n",
    )
    result = run("convert", "--columns", tmp_path / "c.yaml", f"leaf7={tmp_path}/a.csv", tmp_path / "b.csv")
    assert result.exit_code == 0
    assert "leaf7" in (tmp_path / "b.csv").read_text()
    assert run("convert", "--columns", tmp_path / "no.yaml", tmp_path / "a.csv", tmp_path / "b.csv").exit_code == 2


@pytest.mark.parametrize("out", ["b.xml", "b.csv.bz2", "b.parquet.gz", "no/b.csv", "a.csv"])
def test_where_nothing_can_be_written(tmp_path, out):
    write(tmp_path / "a.csv", flows(0, 9))
    before = (tmp_path / "a.csv").read_bytes()
    result = run("convert", tmp_path / "a.csv", tmp_path / out)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"prism-collect: {tmp_path}/{out}: ")
    assert (tmp_path / "a.csv").read_bytes() == before


def test_nothing_is_left_where_reading_fails(tmp_path):
    (tmp_path / "a.csv").write_text("start_ns,end_ns,src,dst,octets\nx,2,10.0.0.1,10.0.0.2,5\n")
    assert run("convert", tmp_path / "a.csv", tmp_path / "b.parquet").exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_inspect_of_records(tmp_path):
    write(tmp_path / "a.parquet", flows(10**18, 9))
    result = run("inspect", tmp_path / "a.parquet")
    assert result.exit_code == 0
    assert "9 records" in result.stdout
    assert "10.0.0.3" in result.stdout


@pytest.mark.parametrize(("file", "match"), [("-", "standard input"), ("no.pcap", "no such file"), (".", "directory")])
def test_inspect_of_nothing(tmp_path, file, match):
    result = run("inspect", file if file == "-" else tmp_path / file)
    assert result.exit_code == 2
    assert match in result.stderr


HEAVY = ("numba", "numpy", "pyarrow", "pyshark", "scapy", "scipy")
LOOK = "import sys\nsys.argv[1:] = {words!r}\nfrom {module} import main\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
TELL = "sys.stderr.write('loaded: ' + ' '.join(name for name in {heavy!r} if name in sys.modules))"


@pytest.mark.parametrize(
    ("module", "words", "heavy"),
    [
        ("prism.cli.main", ["--help"], HEAVY),
        ("prism.cli.main", ["replay", "--help"], HEAVY),
        ("collectors.cli.commands", ["--help"], HEAVY),
        ("collectors.cli.commands", ["convert", "--help"], HEAVY),
        ("collectors.cli.commands", ["inspect", "--help"], HEAVY),
        ("collectors.cli.commands", ["flows", "{}", "-o", "{}.csv"], ("pyshark", "scapy")),
    ],
)
def test_what_is_not_needed_is_not_imported(tmp_path, module, words, heavy):
    capture = Path(__file__).parents[3] / "pcaps" / "slow_uplink" / "spine0.pcap.gz"
    (tmp_path / "x").symlink_to(capture)
    words = [word.format(tmp_path / "x") for word in words]
    code = LOOK.format(words=words, module=module) + TELL.format(heavy=heavy)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[3], check=True
    )
    assert done.stderr.endswith("loaded: ")
