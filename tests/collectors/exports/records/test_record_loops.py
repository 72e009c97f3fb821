import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.exports.records import record_loops
from collectors.exports.records.elements import DEFAULT
from collectors.exports.records.templates import COUNT, Definition, Field, layout_of
from tests.collectors.builders import exports as x

COUNTED = (COUNT, (1 << 63) - 1, 1)
ELEMENTS = (1, 2, 7, 11, 4, 6, 8, 12, 27, 28, 152, 22, 21, 50, 315, 9999)


@given(st.lists(st.lists(st.binary(max_size=300), min_size=3, max_size=3), max_size=4), st.booleans(), st.binary(max_size=3))
def test_records_whose_length_varies(values, long, tail):
    lengths = np.array([-1, 2, -1, -1], np.int64)
    body = b"".join(x.variable(a, long=long) + b"\1\2" + x.variable(b) + x.variable(c) for a, b, c in values) + bytes(tail[:2])
    data = np.frombuffer(body + bytes(1), np.uint8)
    begin, end = np.array([0]), np.array([len(body)])
    count, cut = np.zeros(1, np.int64), np.zeros(1, np.int64)
    record_loops.count_records(data, begin, end, lengths, 5, count, cut)
    assert (count.tolist(), cut.tolist()) == ([len(values)], [0])
    slots = np.array(
        [(0, 0, -1, 0, 0, 8, 0, 1), *((1 + (i > 0), 0, (2, -1, -1)[i], i, 0, *COUNTED) for i in range(3))], np.int64
    ).T.copy()
    out = record_loops.columns_of(slots, len(values))
    record_loops.varying_records(data, begin, end, count, lengths, slots, record_loops.addresses_of(out))
    for i, (a, b, _) in enumerate(values):
        place, size = int(out[2][i]), int(out[3][i])
        assert int(out[0][i]) == (int.from_bytes(a, "big") if len(a) <= 8 else 0)
        assert (int(out[1][i]), body[place : place + size]) == (0x102, b)


@given(
    st.lists(st.tuples(st.sampled_from(ELEMENTS), st.integers(1, 16)), min_size=1, max_size=8),
    st.integers(0, 5),
    st.data(),
)
def test_records_of_one_size_are_what_those_of_any_are(fields, n, data):
    """Every number is the same, whichever loop reads it, and what a plain reader makes of it."""
    definition = Definition(300, -1, tuple(Field(0, *field) for field in fields))
    layout = layout_of(definition, DEFAULT)
    body = data.draw(st.binary(min_size=layout.size * n, max_size=layout.size * n))
    octets = np.frombuffer(bytes(3) + body + bytes(1), np.uint8)
    begin, count = np.array([3]), np.array([n])
    found, same = (record_loops.columns_of(layout.slots, n) for _ in range(2))
    start = octets.ctypes.data
    record_loops.fixed_records(start, begin, count, layout.size, layout.slots, record_loops.addresses_of(found))
    end, places = begin + len(body), record_loops.addresses_of(same)
    record_loops.varying_records(octets, begin, end, count, layout.lengths, layout.slots, places)
    for one, other in zip(found, same, strict=True):
        assert (one.dtype, one.tolist()) == (other.dtype, other.tolist())
    for k, (field, skip, take, what, within, store, most, unit) in enumerate(layout.slots.T.tolist()):
        assert within == sum(length for _, length in fields[:field]) + skip
        for r in range(n):
            at = r * layout.size + within
            value = (int.from_bytes(body[at : at + take], "big"), at + 3, take)[what % 3]
            assert found[k][r] == (min(value, most) * unit if store == COUNT else value % (1 << 8 * store))
