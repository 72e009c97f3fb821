import json

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from collectors.objects import Objects, first_object, of_array

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


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b"]), st.integers() | st.text(max_size=4), min_size=1), max_size=8),
       st.sampled_from([None, 1]), st.integers(1, 30))  # fmt: skip
def test_an_array_is_its_objects(rows, indent, size):
    text = json.dumps(rows, indent=indent)
    blocks = ((1, text[i : i + size].encode()) for i in range(0, len(text), size)) if text.isascii() else [(1, text.encode())]
    found = [row for some in of_array(iter(blocks)) for _, row in some]
    assert found == [{k: str(v) for k, v in row.items()} for row in rows]


def test_what_is_no_object_in_an_array_is_left_out():
    text = '[\n{"a": 1},\n{"a": tru},\n{"a": 2}\n]\n'
    found = [row for some in of_array(iter([(1, text.encode())])) for row in some]
    assert found == [(2, {"a": "1"}), (3, {}), (4, {"a": "2"})]
    long = "[" + '{"a": 1,' * 1000 + '\n{"a": 2}]'
    found = [
        row for some in of_array(((1, long[i : i + 50].encode()) for i in range(0, len(long), 50)), most=200) for row in some
    ]
    assert found[-1] == (2, {"a": "2"})


def test_the_first_object():
    assert first_object(b'{"a": 1, "b": [2]}\n{') == {"a": "1"}
    assert first_object(b"[") == {}
