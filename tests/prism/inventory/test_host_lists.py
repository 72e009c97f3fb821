import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.inventory.host_lists import MOST, expanded


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("server0", ("server0",)),
        ("gpu[001-003,7],login1", ("gpu001", "gpu002", "gpu003", "gpu7", "login1")),
        ("rack[1-2]-node[09-10]", ("rack1-node09", "rack1-node10", "rack2-node09", "rack2-node10")),
        ("a,a, b", ("a", "b")),
        ("", ()),
    ],
)
def test_a_list_is_expanded(text, hosts):
    assert expanded(text, "jobs[0].nodes") == hosts


@pytest.mark.parametrize("text", ["a[1", "a]1[", "a[1-", "a[x]", "a[5-2]", "a[[1]]", f"a[0-{MOST}]", "a[0-999]b[0-999]", "a[]"])
def test_an_invalid_list_is_an_error_with_its_place(text):
    with pytest.raises(ValueError, match=r"^jobs\[0\]\.nodes"):
        expanded(text, "jobs[0].nodes")


@given(st.text(alphabet="ab[]-,019 ", max_size=40))
def test_any_text_gives_hosts_or_a_clear_error(text):
    try:
        found = expanded(text, "here")
    except ValueError as error:
        why = str(error)
    else:
        why = "here" if len(set(found)) == len(found) <= MOST else "twice"
    assert why.startswith("here")
