import numpy as np
import pyarrow as pa
import pytest

from collectors.formats.column_mapping import OURS, Columns, Place
from collectors.formats.foreign_records import Gatherer, address, describe_missing
from collectors.packets.plain_decoder import DecodeError

NAMES = ("start_ns", "end_ns", "src", "dst", "octets")


def table(*rows, names=NAMES):
    return {name: pa.array([row[i] for row in rows]) for i, name in enumerate(names)}


def gathered(*rows, columns=None, exporter="", names=NAMES):
    found = Gatherer("x.csv", (columns or OURS).present(names), exporter)
    found.add(table(*rows, names=names), np.arange(1, len(rows) + 1))
    return found


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("10.0.0.1 ", "10.0.0.1"),
        ("::FFFF:10.0.0.1", "10.0.0.1"),
        (b"\x0a\0\0\1", "10.0.0.1"),
        (bytes(15) + b"\1", "::1"),
        (b"fe80::1", "fe80::1"),
        (0x0A000001, "10.0.0.1"),
    ],
)
def test_addresses(value, text):
    assert address(value) == text


@pytest.mark.parametrize("value", ["", "host", "10.0.0.1%eth0", "fe80::1%eth0", -1, 1 << 128])
def test_an_invalid_address(value):
    with pytest.raises(ValueError, match=r"\S|^$"):
        address(value)


GOOD = (1, 2, "10.0.0.1", "10.0.0.2", 5)


def test_reasons():
    found = gathered(GOOD, (3, 2, "10.0.0.1", "10.0.0.2", 5), (1, 2, "10.0.0.1", None, 5), (1, None, "10.0.0.1", "x", 5), GOOD)
    assert dict(found.skipped) == {"end before start": 1, "bad address in dst": 1, "no value in end_ns": 1}
    assert len(found.taken()) == 2
    assert len(found.taken()) == 0
    with pytest.raises(DecodeError, match=r"x\.csv, row 2: end before start; 3 of 5 rows are bad, more than half, so the file"):
        found.check("row")
    found.good += 1
    found.check()


def test_reasons_name_the_column_as_the_file_does():
    columns = Columns({**OURS.present(NAMES).places, "octets": Place("bytes")})
    names = (*NAMES[:4], "bytes")
    found = gathered(
        GOOD, (None, 2, "10.0.0.1", "10.0.0.2", 5), (1, 2, "10.0.0.1", "10.0.0.2", -5), columns=columns, names=names
    )
    assert dict(found.skipped) == {"no value in start_ns": 1, "bad number in bytes": 1}


def test_what_columns_lack():
    assert describe_missing(["octets"], ["a", "b"]) == "missing column octets; its columns: a, b; map them with --columns"
    assert ", c39 and 3 more; " in describe_missing(["octets"], [f"c{i}" for i in range(43)])


def test_bad_texts_are_not_remembered():
    found = gathered(*[(1, 2, f"host{i}", "10.0.0.2", 5) for i in range(100)])
    assert len(found.endpoints) == 1


def test_an_exporter_is_named_or_the_path_s_first_or_the_file_s():
    names = (*NAMES, "exporter", "path")
    found = gathered(
        (*GOOD, "leaf1", "leaf0|spine0"), (*GOOD, "", "leaf0|spine0"), (*GOOD, None, ""), names=names, exporter="f"
    )
    flows = found.flows()
    assert [flows.exporters[code] for code in flows.exporter] == ["leaf1", "leaf0", "f"]
    assert [flows.paths[code] for code in flows.path] == [("leaf0", "spine0")] * 2 + [()]


BOTH = Columns(
    {name: Place(name) for name in NAMES},
    {"src": Place("dst"), "dst": Place("src"), "octets": Place("back")},
)


def test_both_ways_are_two_records():
    names = (*NAMES, "back")
    found = gathered((*GOOD, 7), (*GOOD, 0), (*GOOD, None), (1, 2, "x", "10.0.0.2", 5, 7), columns=BOTH, names=names)
    flows = found.flows()
    assert [(flows.endpoints[s], o) for s, o in zip(flows.src, flows.octets.tolist(), strict=True)] == [
        *[("10.0.0.1", 5)] * 3,
        ("10.0.0.2", 7),
    ]
    assert dict(found.skipped) == {"bad address in src": 1}


def test_spans():
    names = ("start_ns", "duration_ns", "src", "dst", "octets")
    flows = gathered((5, 2, "10.0.0.1", "10.0.0.2", 5), names=names).flows()
    assert (flows.start_ns.tolist(), flows.end_ns.tolist()) == ([5], [7])
    names = ("end_ns", "duration_ns", "src", "dst", "octets")
    flows = gathered((5, 2, "10.0.0.1", "10.0.0.2", 5), names=names).flows()
    assert (flows.start_ns.tolist(), flows.end_ns.tolist()) == ([3], [5])


def test_words_and_lenient_columns():
    columns = Columns(
        {**BOTH.places, "protocol": Place("pr", lenient=True), "tcp_flags": Place("flg"), "dst_port": Place("dp", lenient=True)}
    )
    names = (*NAMES, "pr", "flg", "dp")
    rows = [(*GOOD, "TCP", "...AP..F", "80"), (*GOOD, "mystery", "", "3.1"), (*GOOD, "17", "0x1f", ""), (*GOOD, "6", "?", "1")]
    found = gathered(*rows, columns=columns, names=names)
    flows = found.flows()
    assert flows.protocol.tolist() == [6, 0, 17]
    assert flows.tcp_flags.tolist() == [25, 0, 31]
    assert flows.dst_port.tolist() == [80, 0, 0]
    assert dict(found.skipped) == {"bad number in flg": 1}
