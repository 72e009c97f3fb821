import gzip
import json
from contextlib import suppress

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from collectors.columns.record import Flows
from collectors.formats import text_files
from collectors.packets.plain_decoder import DecodeError
from collectors.writers import record_files
from tests.collectors.builders.packets import rows_of

HEAD = "start_ns,end_ns,src,dst,octets"
GOOD = "1,2,10.0.0.1,10.0.0.2,100"


def example(n=50):
    i = np.arange(n)
    columns = {"start_ns": 10**18 + i, "end_ns": 10**18 + 2 * i, "src": i % 3, "dst": (i + 1) % 3, "octets": i * 10**9}
    columns |= {"exporter": i % 2, "path": i % 3, "dst_qp": 2**24 - i % 5, "protocol": 17, "tcp_flags": i % 32, "busy_ns": i}
    columns["protocol"] = np.full(n, 17)
    books = {"endpoints": ("10.0.0.1", "fd00::2", "10.0.0.3"), "exporters": ("leaf0", "leaf, 1")}
    return Flows.build(columns, **books, paths=((), ("leaf0",), ("leaf, 1", "spine0", "leaf0")))


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.csv.zst", "a.jsonl", "a.jsonl.gz", "a.ndjson.zst"])
def test_what_was_written_is_read(tmp_path, name):
    path = tmp_path / name
    record_files.write(path, example(), rows_at_once=7)
    flows, skipped = text_files.read(path, block_octets=900)
    assert rows_of(flows) == rows_of(example())
    assert not skipped
    assert text_files.is_dump(path.read_bytes())


def text(tmp_path, *lines):
    path = tmp_path / "flows.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_required_columns_are_enough_and_the_path_names_the_exporter(tmp_path):
    flows, _ = text_files.read(text(tmp_path, "path," + HEAD + ",color", f"leaf0|spine0,{GOOD},red", f",{GOOD},blue"))
    assert flows.octets.tolist() == [100, 100]
    assert [flows.exporters[e] for e in flows.exporter] == ["leaf0", ""]
    assert [flows.paths[p] for p in flows.path] == [("leaf0", "spine0"), ()]
    assert flows.sampling_rate.tolist() == [1, 1]


def test_records_come_by_start(tmp_path):
    flows, _ = text_files.read(text(tmp_path, HEAD, "5,6,10.0.0.1,10.0.0.2,7", GOOD))
    assert flows.start_ns.tolist() == [1, 5]


def test_an_ipv4_address_in_an_ipv6_one_is_itself(tmp_path):
    flows, _ = text_files.read(text(tmp_path, HEAD, GOOD, GOOD.replace("10.0.0.1", "::ffff:10.0.0.1")))
    assert flows.endpoints == ("10.0.0.1", "10.0.0.2")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1,2,10.0.0.1,10.0.0.2,1.5", "bad number in octets"),
        ("1,2,10.0.0.1,10.0.0.2,-5", "bad number in octets"),
        ("1,2,10.0.0.1,10.0.0.2,", "no value in octets"),
        (f"1,2,10.0.0.1,10.0.0.2,{2**70}", "bad number in octets"),
        ("1,2,host,10.0.0.2,5", "bad address in src"),
        ("3,2,10.0.0.1,10.0.0.2,5", "end before start"),
        ("1,2,10.0.0.1", "columns are missing"),
        ("", None),
    ],
)
def test_bad_rows_are_counted_and_more_than_half_of_them_are_an_error(tmp_path, row, reason):
    flows, skipped = text_files.read(text(tmp_path, HEAD, GOOD, row, GOOD))
    assert dict(skipped) == ({reason: 1} if reason else {})
    assert len(flows) == 2
    if reason:
        with pytest.raises(DecodeError, match=rf"flows\.csv, line 3: {reason}"):
            text_files.read(text(tmp_path, HEAD, GOOD, row, row))


def test_a_missing_column_is_an_error(tmp_path):
    with pytest.raises(DecodeError, match=r"flows\.csv, line 1: missing column octets"):
        text_files.read(text(tmp_path, "start_ns,end_ns,src,dst", "1,2,10.0.0.1,10.0.0.2"))
    with pytest.raises(DecodeError):
        text_files.read(text(tmp_path, ""))


def test_json_lines_that_are_no_objects_are_bad(tmp_path):
    good = json.dumps({"start_ns": 1, "end_ns": 2, "src": "10.0.0.1", "dst": "10.0.0.2", "octets": 5})
    bad = ["[1]", "{", '{"start_ns": 1}', good.replace("5", "5.5"), good.replace("5", "[5]")]
    flows, skipped = text_files.read(text(tmp_path, *[good] * 6, *bad))
    assert len(flows) == 6
    assert dict(skipped) == {"columns are missing": 4, "bad number in octets": 1}


def test_a_compressed_dump_that_ends_early_gives_what_is_there(tmp_path):
    lines = "\n".join([HEAD, *(f"{i},{i * 7919},10.0.0.{i % 200},10.0.0.2,{i * i}" for i in range(50_000))])
    for name, packed in (("a.gz", gzip.compress(lines.encode())), ("a.zst", zstandard.compress(lines.encode()))):
        (tmp_path / name).write_bytes(packed[: len(packed) // 2])
        flows, _ = text_files.read(tmp_path / name)
        assert 1000 < len(flows) < 50_000


def test_a_switch_may_not_hold_the_bar(tmp_path):
    with pytest.raises(ValueError, match="must not contain"):
        record_files.write(tmp_path / "a.csv", Flows.build({"start_ns": []}, endpoints=(), paths=((), ("a|b",))))


def test_captures_are_no_dumps():
    for head in (
        b"\xd4\xc3\xb2\xa1\x02\0\x04\0",
        b"\xa1\xb2\x3c\x4d\0\2\0\4",
        b"\n\r\r\n\x1c\0\0\0M<+\x1a",
        b"",
        b"\x1f\x8b\x08",
    ):
        assert not text_files.is_dump(head + b"\0" * 40 if head else head)
    assert not text_files.is_dump(gzip.compress(b"\xd4\xc3\xb2\xa1\x02\0\x04\0" * 9))
    assert text_files.is_dump(b"\xef\xbb\xbf" + HEAD.encode())


@given(st.binary(max_size=400))
def test_any_octets_are_read_or_refused(tmp_path_factory, octets):
    path = tmp_path_factory.mktemp("any") / "x.csv"
    path.write_bytes(f"{HEAD}\n{GOOD}\n".encode() + octets)
    text_files.is_dump(octets)
    with suppress(DecodeError):
        text_files.read(path)


OBJECT = '{"start_ns": 1, "end_ns": 2, "src": "10.0.0.1", "dst": "10.0.0.2", "octets": 5}'
HEADS = [
    b"",
    f"{HEAD}\n{GOOD}\n".encode(),
    f"{OBJECT}\n".encode(),
    f"[{OBJECT},".encode(),
    b"#separator \\x09\n",
    b"ts,sa,da,td,ibyt\n",
]


@given(
    st.sampled_from(HEADS),
    st.lists(st.binary(max_size=40) | st.sampled_from([*HEADS, b'"', b"{", b"\n", b"Summary\n"])),
    st.booleans(),
)
def test_any_text_is_read_or_refused(tmp_path_factory, head, pieces, packed):
    octets = head + b"".join(pieces)
    path = tmp_path_factory.mktemp("any") / "x"
    path.write_bytes(gzip.compress(octets)[: len(octets)] if packed else octets)
    with suppress(DecodeError):
        text_files.read(path, block_octets=64)


FIELDS = st.sampled_from(["1", "7", "x", "", "10.0.0.1", "fd00::1", '"5"', '"a', "5.0", "0x5", "-1"])
ROWS = st.lists(FIELDS, min_size=5, max_size=5).map(",".join) | st.lists(FIELDS, max_size=6).map(",".join) | st.just(GOOD)


@given(st.lists(ROWS, max_size=12), st.integers(1, 200))
def test_the_size_of_blocks_does_not_matter(tmp_path_factory, rows, size):
    path = tmp_path_factory.mktemp("any") / "x.csv"
    path.write_text("\n".join([HEAD, *[GOOD] * (len(rows) + 1), *rows]) + "\n")
    (one, skipped), (other, left_out) = text_files.read(path), text_files.read(path, block_octets=size)
    assert rows_of(one) == rows_of(other)
    assert skipped == left_out


def test_a_huge_field_is_left_out_and_nothing_else(tmp_path):
    rows = [HEAD, GOOD, f"1,2,{'x' * 300_000},10.0.0.2,5", GOOD, "y" * 6_000_000, GOOD, GOOD]
    flows, skipped = text_files.read(text(tmp_path, *rows))
    assert len(flows) == 4
    assert dict(skipped) == {"bad address in src": 1, "line longer than 1 MiB": 1}


def test_objects_nested_deeply_are_left_out(tmp_path):
    flows, skipped = text_files.read(text(tmp_path, OBJECT, OBJECT, '{"start_ns":' + "[" * 200_000, OBJECT))
    assert (len(flows), dict(skipped)) == (3, {"columns are missing": 1})


def test_another_delimiter_and_a_mark_before_the_header(tmp_path):
    flows, _ = text_files.read(text(tmp_path, "#" + HEAD.replace(",", ";"), GOOD.replace(",", ";")))
    assert flows.octets.tolist() == [100]
    flows, _ = text_files.read(text(tmp_path, "", "", HEAD.replace(",", "\t"), GOOD.replace(",", "\t"), ""))
    assert flows.octets.tolist() == [100]


def test_an_array_of_objects(tmp_path):
    flows, skipped = text_files.read(text(tmp_path, "[", OBJECT + ",", OBJECT.replace("5", '"5"') + ",", '{"a": 1}]'))
    assert (flows.octets.tolist(), dict(skipped)) == ([5, 5], {"columns are missing": 1})


def test_the_switch_of_records_that_name_none(tmp_path):
    flows, _ = text_files.read(text(tmp_path, HEAD + ",exporter", GOOD + ",leaf1", GOOD + ","), exporter="leaf0")
    assert [flows.exporters[code] for code in flows.exporter] == ["leaf1", "leaf0"]


def test_lengths_of_time_in_json(tmp_path):
    row = json.loads(OBJECT)
    row["duration_ns"] = 7
    del row["end_ns"]
    flows, _ = text_files.read(text(tmp_path, json.dumps(row)))
    assert flows.end_ns.tolist() == [8]
