import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.formats.delimited import Delimited, header

NAMES = ["n", "word", "more", "n"]


def rows_of(parts):
    """Line, number and word of every row, as texts; and the lines that are none."""
    rows, ragged = [], []
    for part in parts:
        columns = [part.columns[name].to_pylist() for name in ("n", "word")]
        rows += [
            (at, *(None if v is None else str(v) for v in row)) for at, *row in zip(part.at.tolist(), *columns, strict=True)
        ]
        ragged += part.ragged.tolist()
    return sorted(rows), sorted(ragged)


def naive(lines, delimiter, quoted):
    """The same by Python's csv, a line at a time."""
    rows, ragged = [], []
    for i, line in enumerate(lines, 5):
        try:
            row = (
                next(csv.reader([line], delimiter=delimiter, strict=True), [])
                if quoted
                else line.split(delimiter)
                if line
                else []
            )
        except csv.Error:
            ragged.append(i)
            continue
        if len(row) == len(NAMES):
            rows.append((i, row[0] or None, row[1] or None))
        elif row:
            ragged.append(i)
    return rows, ragged


FIELDS = st.sampled_from(["1", "23", "x", "", "a b", '"q"', '"a,b"', '"a""b"', 'a"b', '"', "0x10", "ü", " 4", "007"])
LINES = st.lists(FIELDS, max_size=5).map(",".join) | st.lists(FIELDS, min_size=4, max_size=4).map(",".join)


@given(st.lists(LINES, max_size=8), st.booleans())
def test_rows_are_those_of_the_csv_module(lines, quoted):
    table = Delimited(NAMES, ["n", "word"], numbers=["n"], words=["word"], quoted=quoted)
    block = "".join(line + "\n" for line in lines).encode()
    found, ragged = rows_of(table.parts(5, block)) if block else ([], [])
    expected, bad = naive(lines, ",", quoted)

    def plain(rows):  # a block all of whose numbers are numbers has them as such
        return [(at, n.strip().lstrip("0") or "0" if n and n.strip().isdigit() else n, word) for at, n, word in rows]

    assert ragged == bad
    assert plain(found) == plain(expected)


def test_octets_that_are_no_text():
    table = Delimited(["a", "b"], ["a", "b"], numbers=["a"])
    (part,) = table.parts(1, b"1,\xff\n2,\0\n")
    assert part.columns["b"].to_pylist() == ["\ufffd", "\0"]


@pytest.mark.parametrize("delimiter", ["\t", ";", "|"])
def test_other_delimiters(delimiter):
    table = Delimited(["a", "b"], ["b"], delimiter=delimiter, null=("-", ""), quoted=False)
    (part,) = table.parts(1, f"1{delimiter}x\n2{delimiter}-\n".encode())
    assert part.columns["b"].to_pylist() == ["x", None]


def test_one_disordered_line_spoils_no_other():
    lines = [f"{i},w,m,0" for i in range(1000)]
    lines[10], lines[500], lines[700] = "", "1,2", "x,w,m,0"
    table = Delimited(NAMES, ["n", "word"], numbers=["n"], words=["word"])
    (part,) = table.parts(1, ("\n".join(lines) + "\n").encode())
    assert part.ragged.tolist() == [501]
    assert len(part.at) == 998
    assert np.array_equal(part.at[[0, 10, 997]], [1, 12, 1000])


def test_headers():
    assert header(' a, "b,c" ,d') == ["a", '"b', 'c"', "d"] or header(' a, "b,c" ,d') == ["a", "b,c", "d"]
    assert header("a;b", ";") == ["a", "b"]
    assert header("") == []
