import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.aggregation._record_columns import ORDER, Columns, columns_of, empty_columns
from collectors.flows.flow_state import OUT

NAMES = Columns._fields


def records_of(rng, n, *, low=0, span=4):
    """Records of random numbers, many of which start at one time."""
    records = np.zeros(n, OUT)
    for name in NAMES:
        records[name] = rng.integers(0, 3, n)
    records["start_ns"] = low + rng.integers(0, span, n)
    return records


@given(
    st.integers(0, 2**32),
    st.lists(st.integers(0, 20), max_size=4),
    st.sampled_from([0, -(1 << 62), 1_795_214_542_000_000_000]),
    st.sampled_from([1, 4, 1 << 40, (1 << 63) - 1]),
)
def test_in_the_order_of_all_numbers_that_distinguish_flows(seed, sizes, low, span):
    rng = np.random.default_rng(seed)
    parts = [records_of(rng, n, low=low, span=span) if low <= 0 or span < 1 << 62 else records_of(rng, n) for n in sizes]
    whole = np.concatenate([np.zeros(0, OUT), *parts])
    plain = whole[np.lexsort([whole[name] for name in ORDER])]
    for name, column in columns_of(parts)._asdict().items():
        assert column.dtype == OUT[name]
        assert column.tolist() == plain[name].tolist()


def test_columns_share_one_piece_of_memory_and_nothing_else():
    columns = empty_columns(7)
    for number, column in enumerate(columns):
        assert column.flags.aligned
        column[:] = number
    assert [set(column.tolist()) for column in columns] == [{number} for number in range(len(NAMES))]
    assert set(NAMES) == set(OUT.names or ())
