from contextlib import suppress
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.columns.record import COLUMNS, Flows
from collectors.formats.column_mapping import parse
from collectors.formats.parquet import KEY, Writer, read_parquet, write_parquet
from collectors.packets.plain_decoder import DecodeError
from tests.collectors.builders.flows import BOOKS, drawn
from tests.collectors.builders.packets import rows_of


def same(one, other):
    for f in fields(Flows):
        a, b = getattr(one, f.name), getattr(other, f.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype, f.name
            np.testing.assert_array_equal(a, b, f.name)
        else:
            assert a == b, f.name


@given(drawn(), st.integers(1, 20))
def test_a_dump_read_back_is_the_same_bit_for_bit(tmp_path_factory, flows, rows_at_once):
    path = tmp_path_factory.mktemp("p") / "a.parquet"
    write_parquet(path, flows, rows_at_once=rows_at_once)
    read, skipped = read_parquet(path, rows_at_once=rows_at_once + 1)
    same(read, flows)
    assert not skipped


def test_dictionaries_may_be_empty(tmp_path):
    flows = Flows.build({"start_ns": [1], "end_ns": [2], "src": [0], "dst": [0]}, endpoints=("10.0.0.1",))
    for known in (flows, flows.take(np.zeros(1, np.bool_))):
        write_parquet(tmp_path / "a.parquet", known)
        same(read_parquet(tmp_path / "a.parquet")[0], known)
    named, _ = read_parquet(tmp_path / "a.parquet", exporter="leaf0")
    write_parquet(tmp_path / "a.parquet", flows)
    named, _ = read_parquet(tmp_path / "a.parquet", exporter="leaf0")
    assert [named.exporters[e] for e in named.exporter] == ["leaf0"]


def test_pieces_with_dictionaries_of_their_own(tmp_path):
    one = Flows.build(
        {"start_ns": [1], "end_ns": [2], "src": [0], "dst": [1], "exporter": [0]},
        endpoints=("10.0.0.1", "10.0.0.2"),
        exporters=("leaf0",),
    )
    two = Flows.build(
        {"start_ns": [5], "end_ns": [9], "src": [0], "dst": [1], "exporter": [1], "path": [1]},
        endpoints=("10.0.0.2", "fd00::1"), exporters=("leaf1", "leaf0"), paths=((), ("leaf1", "leaf0")),
    )  # fmt: skip
    with Writer(tmp_path / "a.parquet") as file:
        file.add(two)
        file.add(one)
        file.add(one.take(np.zeros(1, np.bool_)))
        assert file.count == 2
    read, skipped = read_parquet(tmp_path / "a.parquet")
    assert rows_of(read) == sorted(rows_of(one) + rows_of(two))
    assert read.start_ns.tolist() == [1, 5]
    assert read.endpoints == ("10.0.0.2", "fd00::1", "10.0.0.1")
    assert not skipped
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == 2


def test_others_read_our_dumps(tmp_path):
    flows = drawn_one()
    write_parquet(tmp_path / "a.parquet", flows)
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.column_names == [c.name for c in COLUMNS]
    assert table.column("src").to_pylist() == [flows.endpoints[code] for code in flows.src]
    assert pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(0).column(0).compression == "ZSTD"


def drawn_one():
    columns = {
        "start_ns": [10**18, 10**18 + 1],
        "end_ns": [10**18 + 5, 10**18 + 7],
        "src": [0, 1],
        "dst": [1, 2],
        "octets": [5, 6],
    }
    return Flows.build({**columns, "path": [1, 0]}, **BOOKS)


def test_a_later_version_is_refused(tmp_path):
    table = pa.table({"start_ns": [1], "end_ns": [2], "src": ["10.0.0.1"], "dst": ["10.0.0.2"], "octets": [5]})
    for said, match in (
        (b'{"version":2,"endpoints":[],"exporters":[],"paths":[]}', "version 2"),
        (b"[", "cannot be read"),
        (b"{}", "cannot be read"),
    ):
        pq.write_table(table.replace_schema_metadata({KEY: said}), tmp_path / "a.parquet")
        with pytest.raises(DecodeError, match=rf"a\.parquet.*{match}"):
            read_parquet(tmp_path / "a.parquet")


FOREIGN = {
    "start_ns": pa.array([1, 2, None, 4], pa.timestamp("us")),
    "end_ns": pa.array([2_000, 2_500, 3_000, 4_000], pa.uint64()),
    "src": pa.array([b"\x0a\0\0\1", b"\x0a\0\0\2"] * 2, pa.binary(4)),
    "dst": pa.array(["10.0.0.3", "nobody", "10.0.0.3", "::ffff:10.0.0.3"]),
    "octets": pa.array([1.0, 2.0, 3.0, 4.0]),
    "packets": pa.array([1, None, 1, None], pa.int8()),
    "dst_port": pa.array([1, 2, 3, 65536], pa.int32()),
    "more": pa.array([[1], [], None, []], pa.list_(pa.int64())),
}


def test_foreign_types_and_nulls(tmp_path):
    table = {**FOREIGN, "dst_port": pa.array([1, 2, 3, None], pa.int32())}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    flows, skipped = read_parquet(tmp_path / "a.parquet", exporter="leaf9")
    assert dict(skipped) == {"bad address in dst": 1, "no value in start_ns": 1}
    assert flows.start_ns.tolist() == [1000, 4000]
    assert flows.end_ns.tolist() == [2000, 4000]
    assert [flows.endpoints[i] for i in flows.src] == ["10.0.0.1", "10.0.0.2"]
    assert [flows.endpoints[i] for i in flows.dst] == ["10.0.0.3"] * 2
    assert flows.packets.tolist() == [1, 0]
    assert flows.exporters[flows.exporter[0]] == "leaf9"


def test_more_than_half_bad_rows_are_an_error_with_file_and_row(tmp_path):
    pq.write_table(pa.table(FOREIGN), tmp_path / "a.parquet")
    with pytest.raises(
        DecodeError,
        match=r"a\.parquet, row 2: bad address in dst; 3 of 4 rows are bad, more than half, so the file is rejected",
    ):
        read_parquet(tmp_path / "a.parquet")


def test_a_missing_column_is_named(tmp_path):
    pq.write_table(pa.table({"start_ns": [1], "bytes": [5]}), tmp_path / "a.parquet")
    with pytest.raises(DecodeError, match=r"a\.parquet: missing column end_ns, src, dst, octets; its columns: start_ns, bytes"):
        read_parquet(tmp_path / "a.parquet")
    mapped = parse("{start_ns: t, end_ns: t, src: a, dst: b, octets: bytes}", "columns.yaml")
    with pytest.raises(DecodeError, match=r"a\.parquet: missing column t \(start_ns\), t \(end_ns\), a \(src\), b \(dst\)"):
        read_parquet(tmp_path / "a.parquet", mapped)


def test_mapped_columns(tmp_path):
    columns = parse(
        "{end_ns: {column: at, unit: s}, duration_ns: {constant: 2.5, unit: ms}, src: a, dst: b,"
        " octets: {column: words, scale: 4}}",
        "c",
    )
    pq.write_table(
        pa.table({"at": [1.5, 2.5], "a": ["10.0.0.1"] * 2, "b": ["10.0.0.2"] * 2, "words": [1, 2]}), tmp_path / "a.parquet"
    )
    flows, _ = read_parquet(tmp_path / "a.parquet", columns)
    assert flows.end_ns.tolist() == [1_500_000_000, 2_500_000_000]
    assert flows.start_ns.tolist() == [1_497_500_000, 2_497_500_000]
    assert flows.octets.tolist() == [4, 8]


@given(st.data())
def test_damaged_files_are_refused_or_read(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("p") / "a.parquet"
    write_parquet(path, drawn_one())
    octets = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(octets[: data.draw(st.integers(0, len(octets)))] if data.draw(st.booleans()) else octets)
    with suppress(DecodeError):
        read_parquet(path)


@given(st.binary(max_size=200))
def test_any_footer_is_refused_or_read(tmp_path_factory, footer):
    path = tmp_path_factory.mktemp("p") / "a.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(DecodeError, match=r"a\.parquet"):
        read_parquet(path)
