from prism.incidents.node_mapping import map_nodes
from prism.logs.parsing.log_facts import Facts
from prism.topology import Endpoint, Topology

NAMES = ("10.0.0.10", "10.0.0.2", "10.0.0.3", "10.0.0.4")


def test_by_order_where_nobody_says():
    own = map_nodes(NAMES, Facts(), None)
    assert own.assumed
    assert own.endpoints("rank 3") == ("10.0.0.10",)
    assert own.endpoints("elsewhere", (1,)) == ("10.0.0.3",)


def test_by_topology_and_launcher():
    facts = Facts()
    for rank, host in ((0, "b"), (1, "b"), (2, "a"), (3, "a")):
        facts.place(rank, host)
    place = {name: Endpoint("a" if name in NAMES[:2] else "b", None, None) for name in NAMES}
    own = map_nodes(NAMES, facts, Topology(place))
    assert not own.assumed
    assert own.endpoints("a") == ("10.0.0.2", "10.0.0.10")
    assert own.endpoints("a", (3,)) == ("10.0.0.10",)
    assert own.rank["10.0.0.3"] == 0


def test_by_addresses_in_the_logs():
    facts = Facts(addresses={"n7": "10.0.0.4"})
    assert map_nodes(NAMES, facts, None).endpoints("n7") == ("10.0.0.4",)
