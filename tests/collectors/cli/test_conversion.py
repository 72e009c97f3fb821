from pathlib import Path

import pytest

from collectors.cli.conversion import convert
from collectors.formats import file_types
from collectors.formats.column_mapping import parse
from collectors.packets.plain_decoder import DecodeError
from collectors.writers.record_files import write
from tests.collectors.builders.packets import rows_of
from tests.collectors.writers.test_record_files import flows

RUN = Path(__file__).parents[3] / "pcaps" / "two_jobs"


def read(path):
    return file_types.open_records(path).flows()


@pytest.mark.parametrize("first", ["a.csv", "a.jsonl.gz", "a.parquet"])
@pytest.mark.parametrize("second", ["b.csv.zst", "b.jsonl", "b.parquet"])
def test_any_dump_becomes_any_other(tmp_path, first, second):
    write(tmp_path / first, flows(0, 50))
    done = convert([("a", str(tmp_path / first))], tmp_path / second)
    assert (done.packets, done.written, done.skipped, done.warnings) == (0, 50, {}, ())
    assert rows_of(read(tmp_path / second)) == rows_of(flows(0, 50))


def test_several_files_are_one_dump(tmp_path):
    """Captures, a dump, and a table of another maker."""
    write(tmp_path / "a.csv", flows(0, 9))
    (tmp_path / "b.csv").write_text("at;from;to;n\n1;10.0.0.7;10.0.0.8;5\n2;10.0.0.7;10.0.0.8;x\n3;10.0.0.7;10.0.0.8;6\n")
    columns = parse("{start_ns: {column: at, unit: s}, end_ns: {column: at, unit: s}, src: from, dst: to, octets: n}", "c")
    captures = [(name, str(RUN / f"{name}.pcap.gz")) for name in ("leaf0", "leaf1", "spine0")]
    recorded = convert(captures, tmp_path / "c.parquet")
    assert recorded.packets > recorded.written > 1000
    assert recorded.skipped["seen by another switch"] > 1000
    assert sum(recorded.skipped.values()) < recorded.packets
    whole = convert([*captures, ("b", str(tmp_path / "b.csv"))], tmp_path / "d.parquet", columns)
    assert whole.written == recorded.written + 2
    assert whole.skipped["bad number in n"] == 1
    found = read(tmp_path / "d.parquet")
    assert found.start_ns[:2].tolist() == [10**9, 3 * 10**9]
    assert [found.exporters[code] for code in found.exporter[:2]] == ["b", "b"]
    assert rows_of(found.take(found.start_ns > 10**12)) == rows_of(read(tmp_path / "c.parquet"))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "a.pcap").write_bytes(b"none at all\0")
    with pytest.raises(DecodeError, match=r"a\.pcap"):
        convert([("a", str(tmp_path / "a.pcap"))], tmp_path / "b.csv")
