from hypothesis import given
from hypothesis import strategies as st

from prism.api.requests.request_parameters import encode_cursor, page_key, parse_rank_range, requested_range
from prism.views.step_cells import ALL, CellRange


@given(st.integers(-(2**63), 2**63), st.text(max_size=50))
def test_a_cursor_comes_back_as_the_key_it_was(number, name):
    assert page_key(encode_cursor((number, name))) == (number, name)


def test_nothing_asked_is_everything():
    assert page_key() is encode_cursor(None) is parse_rank_range(None) is None
    assert requested_range() == ALL
    assert requested_range(5, 7, "2:3") == CellRange(5, 7, 2, 3)
    assert requested_range(None, 0) == CellRange(0, 0)
