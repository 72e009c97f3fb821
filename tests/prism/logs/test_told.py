import json

from prism.logs.diagnosis import diagnose
from prism.logs.scanning import Kinds, scan
from prism.logs.told import document, text


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
