import json

from prism.incidents.log_hints import hints
from prism.incidents.node_mapping import map_nodes
from prism.inventory.operator_hints import parse
from prism.logs.parsing.log_facts import Facts

NAMES = ("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")


def test_hints_that_replay_reads():
    facts = Facts(sizes={"world": 4, "dp": 2, "pp": 2, "tp": 1}, library="nccl", rings={0: (0, 1, 2, 3)})
    own = parse(json.dumps(hints(facts, NAMES, map_nodes(NAMES, facts, None))), "h.json")
    assert own.library == "nccl"
    assert own.algorithms == ("ring",)
    assert own.jobs[0].sizes == {"dp": 2, "pp": 2, "tp": 1}
    assert own.jobs[0].endpoints == frozenset(NAMES)


def test_sizes_that_do_not_fit_are_left_out():
    facts = Facts(sizes={"world": 4, "dp": 3})
    assert "dp" not in hints(facts, NAMES, map_nodes(NAMES, facts, None))["jobs"][0]
