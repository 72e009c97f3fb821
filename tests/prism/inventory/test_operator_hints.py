import json

import pytest

from prism.inventory.operator_hints import Hints, JobHints, contradictions, named, parse
from prism.model import Job, JobDiagnosis, Layout, Parallelism, Timeline
from prism.topology import Endpoint, Topology

WHOLE = {
    "site": {"gpus_per_host": 8, "library": "nccl", "algorithms": ["ring", "tree"], "tp": [8]},
    "jobs": [{"name": "llama-70b", "endpoints": ["10.0.0.1", "10.0.0.2"], "tp": 8, "pp": 4}],
}
YAML = """
site:
  gpus_per_host: 8
  library: nccl
  algorithms: [ring, tree]
  tp: [8]
jobs:
  - name: llama-70b
    endpoints: [10.0.0.1, 10.0.0.2]
    tp: 8
    pp: 4
"""


@pytest.mark.parametrize(("text", "name"), [(json.dumps(WHOLE), "h.json"), (YAML, "h.yaml"), (json.dumps(WHOLE), "hints")])
def test_a_document_is_read(text, name):
    found = parse(text, name)
    assert (found.gpus_per_host, found.library, found.algorithms, found.tp) == (8, "nccl", ("ring", "tree"), (8,))
    assert found.jobs == (JobHints("llama-70b", frozenset({"10.0.0.1", "10.0.0.2"}), {"tp": 8, "pp": 4}),)
    assert parse("{}", "h") == Hints()


@pytest.mark.parametrize(
    ("document", "error"),
    [
        ([], "h.json: must be an object, not []"),
        ({"sites": {}}, "h.json: unknown key 'sites'; known keys: site, jobs"),
        ({"site": {"gpus": 8}}, "h.json: site: unknown key 'gpus'; known keys: gpus_per_host, library, algorithms, tp"),
        ({"site": {"gpus_per_host": 0}}, "h.json: site.gpus_per_host: must be a whole number from 1 to 1048576, not 0"),
        ({"site": {"library": "x"}}, "h.json: site.library: must be one of nccl"),
        ({"site": {"algorithms": ["ring", 3]}}, "h.json: site.algorithms[1]: must be one of ring"),
        ({"site": {"tp": 8}}, "h.json: site.tp: must be a list, not 8"),
        ({"jobs": [{"name": "a"}]}, 'h.json: jobs[0]: "endpoints" is missing'),
        ({"jobs": [{"endpoints": []}]}, "h.json: jobs[0].endpoints: must name at least one address"),
        ({"jobs": [{"endpoints": ["x"]}]}, "h.json: jobs[0].endpoints[0]: 'x' is not an IPv4 or IPv6 address"),
        ({"jobs": [{"endpoints": [7]}]}, "h.json: jobs[0].endpoints[0]: 7 is not an IPv4 or IPv6 address"),
        ({"jobs": [{"endpoints": ["1.1.1.1"], "tp": True}]}, "h.json: jobs[0].tp: must be a whole number from 1"),
        ({"jobs": [{"endpoints": ["1.1.1.1"], "name": ""}]}, 'h.json: jobs[0].name: must be a name, not ""'),
        (
            {"jobs": [{"endpoints": ["1.1.1.1"]}, {"endpoints": ["1.1.1.1"]}]},
            "h.json: jobs[1].endpoints: 1.1.1.1 is an endpoint of h.json: jobs[0], too",
        ),
        (
            {"jobs": [{"endpoints": ["1.1.1.1"], "name": "a"}, {"endpoints": ["1.1.1.2"], "name": "a"}]},
            "h.json: jobs[1].name: 'a' is the name of h.json: jobs[0], too",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(document, error):
    with pytest.raises(ValueError, match=r"h\.json") as raised:
        parse(json.dumps(document), "h.json")
    assert str(raised.value).startswith(error)


@pytest.mark.parametrize(
    ("text", "error"), [('{"a"', "h.json:1:5: "), ('{"site": {}, "site": {}}', "h.json: 'site' is given twice")]
)
def test_broken_text_is_refused_with_its_place(text, error):
    with pytest.raises(ValueError, match=r"h\.json") as raised:
        parse(text, "h.json")
    assert str(raised.value).startswith(error)


ENDS = tuple(f"10.0.0.{k}" for k in range(1, 9))
JOB = Job("j", ENDS, ("h0",), 0, 1)


def found(job=JOB, confidence=0.95, **sizes):
    return JobDiagnosis(job, Parallelism(Layout(**sizes, confidence=confidence), (), ()), Timeline((), (), ()))


def hints(ends=ENDS, **sizes):
    return Hints(jobs=(JobHints("llama", frozenset(ends), sizes),))


def test_a_job_is_named_by_the_hints_that_most_of_its_endpoints_are_in():
    assert named(JOB, hints()).title == "llama (j)"
    assert named(JOB, hints(ENDS[:3])).title == "j"
    assert hints().only(["9.9.9.9"]) == Hints()
    assert hints().only(ENDS) == hints()


def test_agreement_is_silent():
    assert list(contradictions(hints(tp=4, dp=2), [found(tp=4, dp=2)], ENDS, None)) == []
    assert list(contradictions(hints(tp=4), [found(tp=2, confidence=0.5)], ENDS, None)) == [], "the traffic is not clear"


def test_contradictions_are_reported():
    (size,) = contradictions(hints(tp=4), [found(tp=2, dp=4)], ENDS, None)
    assert size == "hints: tp 4 was given for job llama, but the traffic shows TP 2 (95% sure)"
    more, fewer = contradictions(hints((*ENDS[:7], "10.9.9.9")), [found()], ENDS, None)
    assert more == "hints: 1 of the 8 endpoints of job llama do not train with it: 10.9.9.9"
    assert fewer == "hints: 1 endpoints train with job llama, but are not among its endpoints: 10.0.0.8"
    (absent,) = contradictions(hints(), [], ENDS[:2], None)
    assert absent == "hints: no training job was found at the endpoints of job llama; 2 of its 8 endpoints have traffic"
    (site,) = contradictions(Hints(tp=(8, 4)), [found(tp=2)], ENDS, None)
    assert site == "hints: tp 8 or 4 was given for the site, but the traffic of job j shows TP 2"
    topology = Topology({end: Endpoint("h0", None, None) for end in ENDS})
    (host,) = contradictions(Hints(gpus_per_host=4), [], ENDS, topology)
    assert host == "hints: gpus_per_host is 4, but the topology has 8 endpoints at host h0"
