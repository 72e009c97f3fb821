import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.inventory.bookings import Booking, merged, parse
from tests.prism.inventory import documents
from tests.prism.inventory.documents import pod, pods

YAML = """
jobs:
  - {id: 4711, name: llama, user: ada, queue: gpu, hosts: "server[0-1]", start: 2026-11-20T22:42:00Z}
  - {name: mistral, endpoints: [10.0.0.9], start: 1795214500, end: "2026-11-20T23:42:00+01:00"}
"""


def test_each_form_is_identified_by_its_content():
    (one,) = parse(json.dumps(documents.slurm()), "a.json")
    assert (one.source, one.title) == ("slurm", "llama-70b")
    (one,) = parse(json.dumps(pods(pod("a"))), "a.json")
    assert (one.source, one.id) == ("kubernetes", "research/a")
    one, other = parse(YAML, "a.yaml")
    assert one == Booking("4711", "llama", "ada", "gpu", ("server0", "server1"), start_ns=1_795_214_520 * 10**9, source="file")
    assert (other.id, other.endpoints) == ("mistral", ("10.0.0.9",))
    assert other.end_ns - other.start_ns == 20 * 10**9
    assert parse('{"jobs": [], "meta": {}}', "a.json") == parse('{"jobs": []}', "b.json") == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "must be an object"),
        ("{", r"1:2: Expecting"),
        ('{"jobs": 5}', '"jobs" must be a list'),
        ('{"jobs": [{"id": "a"}]}', r'jobs\[0\]: needs "hosts" or "endpoints"'),
        ('{"jobs": [{"hosts": ["a"]}]}', r'jobs\[0\]: needs an "id"'),
        ('{"jobs": [{"id": "a", "hosts": ["b"]}, {"id": "a", "hosts": ["b"]}]}', r"jobs\[1\]: the id 'a'"),
        ('{"jobs": [{"id": "a", "hosts": ["b"], "colour": 1}]}', r"jobs\[0\]: unknown key 'colour'"),
        ('{"jobs": [{"id": "a", "id": "b", "hosts": ["b"]}]}', r"jobs\[0\]: 'id' is given twice"),
        ('{"jobs": [{"id": "a", "endpoints": ["b"]}]}', r"jobs\[0\]\.endpoints\[0\]: 'b' is not"),
        ('{"jobs": [{"id": "a", "hosts": ["b"], "start": "soon"}]}', r"jobs\[0\]\.start: must be a time"),
        ('{"jobs": [{"id": "a", "hosts": ["b"], "start": 9, "end": 8}]}', r"jobs\[0\]: ends before"),
    ],
)
def test_what_cannot_be_meant_is_an_error_with_file_and_place(text, why):
    with pytest.raises(ValueError, match=rf"^a\.json:? ?{why}"):
        parse(text, "a.json")


KEYS = ["jobs", "items", "kind", "id", "hosts", "nodes", "job_id", "job_state", "metadata", "spec", "status"]
PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=5)


@given(
    st.recursive(
        PLAIN,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
        max_leaves=12,
    )
)
def test_any_document_gives_bookings_or_a_clear_error(document):
    try:
        parse(json.dumps(document), "x.json")
    except ValueError as error:
        why = str(error)
    else:
        why = "x.json"
    assert why.startswith("x.json")


def test_a_job_that_is_no_longer_listed_has_ended():
    one, other = Booking("1", hosts=("a",), start_ns=5), Booking("2", hosts=("b",), start_ns=6)
    assert merged((), (one, other), 10) == (one, other)
    known = merged((one, other), (other,), 20)
    assert {b.id: b.end_ns for b in known} == {"1": 20, "2": 0}
    assert {b.id: b.end_ns for b in merged(known, (), 30)} == {"1": 20, "2": 30}
    assert [b.id for b in merged((one,), (other,), 20, max_bookings=1)] == ["2"]
