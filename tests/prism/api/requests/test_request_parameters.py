from hypothesis import given
from hypothesis import strategies as st

from prism.api.requests.request_parameters import after, cursor_of, span, stretch
from prism.views.step_cells import ALL, Stretch


@given(st.integers(-(2**63), 2**63), st.text(max_size=50))
def test_a_cursor_comes_back_as_the_key_it_was(number, name):
    assert after(cursor_of((number, name))) == (number, name)


def test_nothing_asked_is_everything():
    assert after() is cursor_of(None) is span(None) is None
    assert stretch() == ALL
    assert stretch(5, 7, "2:3") == Stretch(5, 7, 2, 3)
    assert stretch(None, 0) == Stretch(0, 0)
