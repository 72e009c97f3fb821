import json

import pytest

from prism.inventory.lldp import Neighbour, completed, devices, parse, to_json
from prism.topology import Endpoint, Topology
from prism.topology import parse as parse_topology
from tests.prism.inventory import documents

HOSTS = Topology({f"10.0.{h}.{r}": Endpoint(f"server{h}", r, None) for h in range(2) for r in range(2)})


@pytest.mark.parametrize("form", ["json", "json0"])
def test_neighbours_are_read_in_either_form(form):
    text = json.dumps(documents.lldp(("eth2", "leaf0", "Ethernet1"), ("eth10", "leaf1", "Ethernet1"), form=form))
    assert parse(text, "server0.json", "server0") == (
        Neighbour("server0", "eth2", "leaf0", "Ethernet1"),
        Neighbour("server0", "eth10", "leaf1", "Ethernet1"),
    )
    assert len(parse(json.dumps(documents.lldp(("eth2", "leaf0", "Ethernet1"), form=form)), "s.json", "s")) == 1


def test_endpoints_get_their_leaf_and_port_by_rail_and_switches_their_links():
    neighbours = [
        Neighbour("server0.example.org", "eth2", "leaf0", "Ethernet1"),
        Neighbour("server0.example.org", "eth10", "leaf1", "Ethernet1"),
        Neighbour("leaf0", "Ethernet2", "server1", "eth2"),  # told by the switch
        Neighbour("leaf1", "Ethernet2", "server1", "eth10"),
        Neighbour("leaf0", "Ethernet49", "spine0", "Ethernet1"),
        Neighbour("spine0", "Ethernet1", "leaf0", "Ethernet49"),
    ]
    made, words = completed(HOSTS, neighbours)
    assert words == ()
    assert [made.leaf(address) for address in HOSTS.endpoints] == ["leaf0", "leaf1", "leaf0", "leaf1"]
    assert made.endpoints["10.0.0.1"].port == "Ethernet1"
    assert made.links == (("leaf0", "spine0"),)
    assert parse_topology(json.dumps(to_json(made)), "t.json") == made


def test_what_does_not_fit_stays_as_it_was_and_is_reported():
    placed = Topology({"10.0.0.1": Endpoint("server0", 0, "leaf7")})
    made, (word,) = completed(placed, [Neighbour("server0", "eth2", "leaf0", "e1")])
    assert made.leaf("10.0.0.1") == "leaf7"
    assert "is at leaf7 in the topology, at leaf0 by LLDP" in word
    uneven = [Neighbour("server0", f"eth{i}", f"leaf{i}", "e1") for i in range(3)]
    made, (word,) = completed(HOSTS, uneven)
    assert made.leaf("10.0.0.0") is None
    assert "2 endpoints but 3 ports" in word


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", r"s\.json:1:2"),
        ("[]", r"s\.json: is not the output of lldpctl"),
        ('{"lldp": 5}', r"s\.json: lldp: must be an object"),
        ('{"lldp": {"interface": [5]}}', r"s\.json: lldp\.interface\[0\]: must be an object"),
        ('{"lldp": {"interface": {"e": {"chassis": {"a": 5}}}}}', r"chassis\[0\]\.a: must be an object"),
        ('{"lldp": {"interface": {"e": {"chassis": {"a\\n": {}}}}}}', r"the neighbour has no name"),
    ],
)
def test_what_cannot_be_meant_is_an_error_with_its_place(text, why):
    with pytest.raises(ValueError, match=why):
        parse(text, "s.json", "s")


def test_who_wrote_a_file():
    assert devices(["leaf0.json", "a=x/b.json", "dir/server3.lldp.json"]) == {
        "leaf0.json": "leaf0",
        "x/b.json": "a",
        "dir/server3.lldp.json": "server3",
    }
