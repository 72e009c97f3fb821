"""Small files that become large: each ends with one line that names the limit and the setting, and status 2."""

import gzip
import struct
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

MIB = 1 << 20
COLLECT, PRISM = ("collectors.cli.commands", "prism-collect"), ("prism.cli.main", "prism")


def run(program, *arguments, shell=""):
    """Run a command line in a process of its own: status, standard error, and the most memory it had, MiB."""
    module, name = program
    code = f"import sys; sys.argv[0] = '{name}'; from {module} import main; main()"
    wrapped = ["sh", "-c", f'{shell}\nexec "$@"', "sh"] if shell else []
    measured = (
        "import os, resource, subprocess, sys; "
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True, timeout=500); "
        "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10); print(done.stderr, end='')"
    )
    command = [sys.executable, "-c", measured, *wrapped, sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    first, _, said = done.stdout.partition("\n")
    status, memory = map(int, first.split())
    assert "Traceback" not in said
    return status, said, memory


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    """20 million equal rows in some hundred kB."""
    path = tmp_path_factory.mktemp("bombs") / "rows.parquet"

    def column(value, coded=False):
        one = pa.array([value] * 1_000_000)
        return pa.chunked_array([one.dictionary_encode() if coded else one] * 20)

    time_ns = column(1_700_000_000_000_000_000)
    columns = {"start_ns": time_ns, "end_ns": time_ns, "src": column("10.0.0.1", True), "dst": column("10.0.0.2", True)}
    pq.write_table(pa.table({**columns, "octets": column(1)}), path, compression="zstd")
    assert path.stat().st_size < MIB
    return path


def test_equal_rows_in_parquet(parquet):
    status, said, memory = run(PRISM, "replay", parquet, "--memory", "256", "--quiet")
    assert (status, said) == (2, f"prism: {parquet}: needs more memory than the limit of 256 MiB; --memory sets it\n")
    assert memory < 256 + 400


@pytest.mark.parametrize("mib", [900, 2048])
def test_a_limit_of_the_shell_is_named(parquet, mib):
    status, said, _ = run(PRISM, "replay", parquet, "--memory", "4096", "--quiet", shell=f"ulimit -v {mib << 10}")
    assert status == 2
    assert f"ulimit -v allows {mib} MiB of address space" in said.splitlines()[-1]


@pytest.mark.parametrize("sections", [False, True])
def test_many_interfaces(tmp_path, sections):
    path = tmp_path / "interfaces.pcapng.gz"
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    interface = struct.pack("<IIHHII", 1, 20, 1, 0, 262144, 20)
    with gzip.open(path, "wb", 6) as file:
        file.write(section)
        for _ in range(7):
            file.write((section + interface if sections else interface) * 10_000)
    status, said, memory = run(COLLECT, "flows", path, "-o", tmp_path / "out.csv")
    assert status == 2
    assert "more than 65,536 sections and interfaces, the limit of a capture" in said.splitlines()[-1]
    assert memory < 500


def test_the_head_of_a_file_is_not_unpacked_further_than_needed(tmp_path):
    """A frame of zeros unpacks to 30,000 times its size."""
    path = tmp_path / "zeros.csv.zst"
    with zstandard.open(path, "wb") as file:
        for _ in range(600):
            file.write(bytes(MIB))
    assert path.stat().st_size < MIB
    status, said, memory = run(COLLECT, "convert", path, tmp_path / "out.csv")
    assert status == 2
    assert "neither a capture nor a file of flow records" in said
    assert memory < 500


@pytest.mark.parametrize(
    "start", ['start_ns,end_ns,src,dst,octets\n1,2,10.0.0.1,10.0.0.2,"', '{"start_ns": 1, "src": "', '[{"src": "']
)
def test_a_line_that_does_not_end(tmp_path, start):
    path = tmp_path / "line.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(start.encode())
        for _ in range(300):
            file.write(b"x" * MIB)
    status, said, memory = run(COLLECT, "convert", path, tmp_path / "out.csv")
    assert status == 2
    assert str(path) in said
    assert memory < 600
