import pytest

from prism.incidents._log_flow_checks import compare_facts, step_s
from prism.incidents.node_mapping import map_nodes
from prism.logs.parsing.iterations import Mark
from prism.logs.parsing.log_facts import Facts
from tests.prism.incidents.made import NAMES, job

S = 10**9


def marks(step, n=12):
    return {"a": [Mark(i, i, int(i * step * S)) for i in range(n)]}


def told(facts, said):
    own = compare_facts(job(12), facts, said, map_nodes(NAMES, facts, None))
    return {one.what: one.agrees for one in own}


def test_agreement_and_disagreement():
    facts = Facts(sizes={"world": 4, "dp": 4}, rings={0: (0, 1, 2, 3)})
    assert told(facts, marks(0.1)) == {"step time": True, "ranks": True, "DP": True, "ring of channel 0": True}
    facts = Facts(sizes={"world": 8, "tp": 2})
    assert told(facts, marks(0.2)) == {"step time": False, "ranks": False, "TP": False}
    assert told(Facts(), {}) == {"step time": None, "ranks": None}


def test_step_times_of_logs():
    assert step_s(marks(0.6)) == pytest.approx(0.6)
    whole = {"a": [replace_time(mark) for mark in marks(0.6, 40)["a"]]}
    assert step_s(whole) == pytest.approx(0.6, rel=0.05)
    named = {"a": [Mark(i, i, None, 0.25) for i in range(9)]}
    assert step_s(named) == 0.25


def replace_time(mark):
    """As a log with whole seconds prints it."""
    return mark._replace(time_ns=mark.time_ns // S * S)
