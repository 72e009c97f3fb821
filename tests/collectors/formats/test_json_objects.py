import json
from decimal import Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from collectors.formats.json_objects import Objects, first_object

KINDS = {"n": pa.int64(), "t": pa.string(), "d": pa.decimal128(30, 9)}


def parts(lines):
    block = "".join(line + "\n" for line in lines).encode()
    found = Objects(KINDS, ["n"]).parts(1, block) if block else []
    rows = [
        (at, *(None if v is None else float(v) if name == "d" else str(v) for name, v in zip(KINDS, row, strict=True)))
        for part in found
        for at, *row in zip(part.at.tolist(), *(part.columns[name].to_pylist() for name in KINDS), strict=True)
    ]
    return rows, [at for part in found for at in part.ragged.tolist()]


GOOD = [
    ({"n": 1, "t": "x", "d": 1.5}, ("1", "x", 1.5)),
    ({"n": 2}, ("2", None, None)),
    ({"t": "y", "n": 3, "more": [1, {}]}, ("3", "y", None)),
]


def test_objects_in_order():
    rows, ragged = parts(json.dumps(given_) for given_, _ in GOOD)
    assert rows == [(i, *expected) for i, (_, expected) in enumerate(GOOD, 1)]
    assert ragged == []


def test_one_disordered_object_spoils_no_other():
    for bad in ("{", "[]", "7", '{"t": "x"}', '{"n": null}', '{"n": [1]}', "{} {}"):
        rows, ragged = parts([*(json.dumps(given_) for given_, _ in GOOD), bad, json.dumps(GOOD[0][0]), ""])
        assert [row[0] for row in rows] == [1, 2, 3, 5]
        assert ragged == [4]


def test_other_kinds_are_given_as_text():
    rows, ragged = parts(['{"n": "12", "t": 5, "d": "x"}'.replace('"x"', "2.5"), '{"n": 1.5}', '{"n": true, "t": {}}'])
    assert rows == [(1, "12", "5", 2.5), (2, "1.5", None, None)]
    assert ragged == [3]


def array(text, size, most=1 << 20):
    """Line, n and t of the objects of an array, and the lines of what is none."""
    octets = text.encode()
    blocks = ((1, octets[i : i + size]) for i in range(0, len(octets), size))
    parts = list(Objects({"n": pa.int64(), "t": pa.string()}, ["n"]).array_parts(blocks, max_octets=most))
    rows = [
        row for p in parts for row in zip(p.at.tolist(), p.columns["n"].to_pylist(), p.columns["t"].to_pylist(), strict=True)
    ]
    return [(at, int(n), t) for at, n, t in rows], [at for p in parts for at in p.ragged.tolist()]


OBJECTS = st.fixed_dictionaries(
    {"n": st.integers(0, 9)}, optional={"t": st.text(max_size=4), "more": st.just([{"n": 1}, {"n": 2}])}
)


@given(st.lists(OBJECTS, max_size=8), st.sampled_from([None, 0, 1]), st.booleans(), st.integers(1, 60))
def test_an_array_is_its_objects(rows, indent, ascii_, size):
    text = json.dumps(rows, indent=indent, ensure_ascii=ascii_)
    found, ragged = array(text.replace("},\n {", "},\n{").replace("\n }", "\n}").replace("\n {", "\n{"), size)
    assert [row[1:] for row in found] == [(row["n"], row.get("t")) for row in rows]
    assert not ragged
    assert [at for at, *_ in found] == sorted(at for at, *_ in found)


def test_objects_as_nfdump_writes_them():
    text = "[\n" + ",\n".join(f'{{\n\t"n" : {i},\n\t"t" : "x"\n}}' for i in range(50)) + "]\n"
    for size in (10, 64, 10_000):
        assert array(text, size) == ([(2 + 4 * i, i, "x") for i in range(50)], [])


def test_what_is_no_object_in_an_array_is_left_out():
    text = '[\n{"n": 1},\n{"n": tru},\n{"n": 2}\n]\n'
    assert array(text, 1000) == ([(2, 1, None), (4, 2, None)], [3])
    found, _ = array("[" + '{"a": 1,' * 1000 + '\n{"n": 2}]', 50, most=200)
    assert found[-1] == (2, 2, None)


def test_the_first_object():
    assert first_object(b'{"a": 1, "b": "x"}\n{') == {"a": 1, "b": "x"}
    assert first_object(b'[\n{"a": 1.5}') == {"a": Decimal("1.5")}
    assert first_object(b"[") == first_object(b"[7") == {}
