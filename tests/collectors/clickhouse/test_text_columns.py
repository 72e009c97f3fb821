import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.clickhouse._text_columns import encoded, texts
from collectors.clickhouse.drivers import Table, TableColumn, opened
from tests.collectors.builders import servers

NOTES = Table("notes", (TableColumn("id", "UInt64"), TableColumn("note", "LowCardinality(String)", "String")), ("id",))
WORDS = ["", "leaf0", "spine ü", "x" * 127, "y" * 128, "ü" * 9000]


@given(
    st.lists(st.text(st.characters(codec="utf-8")), min_size=1, max_size=5),
    st.lists(st.integers(0, 4), max_size=20),
)
def test_each_row_is_its_length_and_its_text(words, codes):
    codes = [code % len(words) for code in codes]
    column = texts(pa.DictionaryArray.from_arrays(np.array(codes, np.int32), pa.array(words)))
    octets, found = encoded(column), []
    while octets:
        length = shift = 0
        used = 0
        for octet in octets:
            used += 1
            length |= (octet & 0x7F) << shift
            shift += 7
            if octet < 0x80:
                break
        found.append(octets[used : used + length].decode())
        octets = octets[used + length :]
    assert found == [words[code] for code in codes]


@pytest.mark.parametrize("one", [False, True])
def test_a_server_has_them_as_they_were(tmp_path, one):
    codes = np.arange(3000) % len(WORDS)
    column = pa.DictionaryArray.from_arrays(codes.astype(np.int32), pa.array(WORDS))
    given_ = np.broadcast_to(np.array("leaf ü", object), 3000) if one else column
    with servers.running(tmp_path) as server:
        database = opened(server.url)
        database.create(NOTES)
        database.insert(NOTES, {"id": np.arange(3000), "note": given_})
        notes = database.query("SELECT note FROM notes ORDER BY id")["note"]
        none = database.query("SELECT note FROM notes WHERE id > 5000")["note"]
        database.close()
    assert notes.dtype == none.dtype == object
    assert len(none) == 0
    assert notes.tolist() == (["leaf ü"] * 3000 if one else [WORDS[code] for code in codes])
