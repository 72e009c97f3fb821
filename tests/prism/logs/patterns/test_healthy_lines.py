import pytest

from prism.logs.parsing.log_scanner import Kinds, scan
from prism.logs.patterns.healthy_lines import Healthy, dumps, learn, loads


def test_lines_of_healthy_runs_are_kept_as_templates():
    events = scan("a", [b"ERROR: no ninja found\nERROR: retry 5 failed\n"], Kinds()).events()
    healthy = learn(events)
    assert healthy.runs == 1
    assert loads(dumps(healthy), "h.json") == healthy
    assert healthy.drain().match("ERROR: retry 7 failed") is not None
    assert learn(events, healthy) == Healthy(healthy.templates, 2)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema": "x"}', '{"schema": "prism-healthy-logs/1", "templates": 3, "runs": 1}']
)
def test_other_files_are_refused(text):
    with pytest.raises(ValueError, match=r"^h\.json: "):
        loads(text, "h.json")
