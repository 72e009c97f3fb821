import gzip
import io
import os
import sys

import pytest
import zstandard

from collectors.captures import pcap
from collectors.formats import file_types
from collectors.formats.file_types import Kind, open_records, read_columns, recognise_file
from collectors.packets.plain_decoder import DecodeError
from collectors.writers.record_files import write
from tests.collectors.builders.packets import rows_of
from tests.collectors.writers.test_record_files import flows


def made(tmp_path, name, octets):
    path = tmp_path / name
    path.write_bytes(octets)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.csv.gz", "a.jsonl.zst", "a.parquet"])
def test_dumps_are_recognised_and_read(tmp_path, name):
    write(tmp_path / name, flows(0, 20))
    other = tmp_path / "x"
    os.rename(tmp_path / name, other)  # the name does not matter
    assert recognise_file(other) is (Kind.parquet if "parquet" in name else Kind.text)
    source = open_records(other)
    assert rows_of(source.flows()) == rows_of(flows(0, 20))
    assert not source.skipped
    assert sum(len(part) for part in open_records(other)) == 20


def test_captures_and_what_is_not_there(tmp_path):
    pcap.write(tmp_path / "a.pcap", [(0, bytes(60), 60)])
    pcap.write(tmp_path / "b.gz", [(0, bytes(60), 60)])
    for name in ("a.pcap", "b.gz", "no", "\0"):
        assert recognise_file(tmp_path / name) is Kind.capture
    assert recognise_file(made(tmp_path, "empty", b"")) is Kind.capture


@pytest.mark.parametrize(
    ("head", "match"),
    [
        (b"\x0c\xa5\2\0\0\1\7\1", "an nfcapd file cannot be read; convert it: nfdump -r .*odd -o json > .*odd.json"),
        (b"snoop\0\0\0\0\0\0\2", "a snoop capture.*editcap"),
        (b"ARROW1\0\0", "an Arrow file"),
        (b"SQLite format 3\0", "SQLite"),
        (gzip.compress(b"PAR1\0\0"), "a compressed Parquet file"),
        (zstandard.compress(b"\x0c\xa5\2\0\0\1\7\1"), "nfcapd"),
    ],
)
def test_what_other_programs_read(tmp_path, head, match):
    with pytest.raises(DecodeError, match=match):
        recognise_file(made(tmp_path, "odd", head))
    assert file_types.HEAD
    if b"snoop" in head:
        assert recognise_file(tmp_path / "odd", dissected=True) is Kind.capture


def test_a_pipe_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for a writer
    assert recognise_file(tmp_path / "pipe") is Kind.capture


def test_standard_input_is_told_without_taking_it(monkeypatch):
    octets = b"start_ns,end_ns,src,dst,octets\n1,2,10.0.0.1,10.0.0.2,5\n"

    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(octets))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert recognise_file("-") is Kind.text
    assert open_records("-").flows().octets.tolist() == [5]


def test_columns_of_a_file(tmp_path):
    path = made(tmp_path, "c.yaml", b"{start_ns: a, end_ns: a, src: b, dst: c, octets: d}")
    assert read_columns(str(path)).columns_to_read() == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match=r"c\.yaml: offset 1"):
        read_columns(str(made(tmp_path, "c.yaml", b"a\xff")))
