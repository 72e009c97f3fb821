import json

from prism.incidents.incident import join_incident
from prism.incidents.incident_report import MAX_LINES, document, text
from prism.logs.parsing.log_scanner import Kinds, scan
from prism.logs.patterns.log_diagnosis import diagnose
from prism.model import Diagnosis, Source
from tests.prism.incidents.made import flows, job


def made(log):
    said = diagnose([scan("rank0.log", [log], Kinds(), rank=0)])
    seen = Diagnosis(Source((), 0, 0, {}, 0, 0), (job(),), ())
    return join_incident(said, seen, flows([]), None)


def test_an_incident_without_a_failure_says_so():
    own = made(b"step 1 loss 1\nstep 2 loss 1\n")
    assert json.loads(json.dumps(document(own)))["failed"] is False
    assert text(own)[0].startswith("No failure in the logs")


def test_secrets_are_masked_and_lines_are_bounded():
    line = b"KeyError: token=ghp_abcdefghijklmnopqrstuvwxyz0123456789 %d\n"
    own = made(b"step 1 loss 1\n" + b"".join(line % n for n in range(5000)))
    told = document(own)
    assert told["failed"]
    assert "ghp_abcdefghijklmnop" not in json.dumps(told)
    assert len(told["logs"]["lines"]) <= MAX_LINES
    assert "Confidence" in text(own)[0]
