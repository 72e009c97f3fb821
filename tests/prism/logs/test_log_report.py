import json

from prism.logs.log_report import document, text
from prism.logs.parsing.log_scanner import Kinds, scan
from prism.logs.patterns.log_diagnosis import diagnose


def test_a_failure_as_json_and_text():
    said = diagnose([scan("rank1.log", [b"step 4 loss 1\nKeyError: 'x'\n"], Kinds(), rank=1)])
    told = json.loads(json.dumps(document(said)))
    assert told["schema"] == "prism-logs/1"
    assert told["suspects"][0]["node"] == "rank 1"
    assert told["lines"][0]["first"] == 2
    lines = list(text(said))
    assert any("user code" in line and "iteration 4" in line for line in lines)


def test_no_failure():
    said = diagnose([scan("a", [b"step 4 loss 1\n"], Kinds())])
    assert document(said)["suspects"] == []
    assert list(text(said))[-1] == "No failure found (training at iteration 4)."
