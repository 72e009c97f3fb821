import json

from hypothesis import given
from hypothesis import strategies as st

from prism.counters._counter_formats import parse
from prism.counters.counter_samples import Gathering


def rows(text):
    into = Gathering()
    assert parse(text, into)
    own = into.samples()
    columns = zip(own.port, own.time_ns, own.in_octets, own.out_octets, strict=True)
    return [(own.ports[port], int(time), int(came), int(went)) for port, time, came, went in columns]


S = 1_790_000_000


def test_gnmic_events_and_telegraf():
    event = {
        "name": "x",
        "timestamp": S * 10**9,
        "tags": {"interface_name": "Eth1", "source": "sw1"},
        "values": {"/interfaces/interface/state/counters/in-octets": "12", "/a/out-octets": 13},
    }
    assert rows(json.dumps([event])) == [(("sw1", "Eth1"), S * 10**9, 12, 13)]
    line = {"fields": {"ifHCInOctets": 5}, "tags": {"agent_host": "sw1", "ifName": "Eth1"}, "timestamp": S}
    assert rows(f"{json.dumps(line)}\n{json.dumps(line)}") == [(("sw1", "Eth1"), S * 10**9, 5, -1)]


def test_gnmi_notifications():
    path = "interfaces/interface[name=Eth2]/state/counters/out-octets"
    one = {"source": "sw1", "timestamp": S * 10**9, "updates": [{"Path": path, "values": {path: 99}}]}
    assert rows(json.dumps(one)) == [(("sw1", "Eth2"), S * 10**9, -1, 99)]


def test_prometheus_ranges():
    metric = {"__name__": "ifHCOutOctets", "instance": "sw1", "ifName": "Eth3"}
    answer = {
        "status": "success",
        "data": {"resultType": "matrix", "result": [{"metric": metric, "values": [[S + 0.5, "1e3"]]}]},
    }
    assert rows(json.dumps(answer)) == [(("sw1", "Eth3"), S * 10**9 + 500_000_000, -1, 1000)]


def test_snmp_walks_by_name_and_number():
    text = f"""# {S} sw1
IF-MIB::ifName.7 = STRING: Eth7
IF-MIB::ifHCInOctets.7 = Counter64: 100
.1.3.6.1.2.1.31.1.1.1.10.7 = 200
# {S + 1}.5 sw1
IF-MIB::ifHCInOctets.7 = Counter64: 150
"""
    assert rows(text) == [
        (("sw1", "Eth7"), S * 10**9, 100, 200),
        (("sw1", "Eth7"), (S + 1) * 10**9 + 500_000_000, 150, -1),
    ]


@given(st.text(max_size=300), st.sampled_from(["", "{", '[{"updates": [', f"# {S} a\nIF-MIB::ifHCInOctets.1 = "]))
def test_anything_is_survived(text, head):
    parse(head + text, Gathering())


KEYS = st.sampled_from(["data", "result", "values", "tags", "timestamp", "updates", "metric", "fields", "Path"])
DOCUMENTS = st.recursive(
    st.none() | st.integers() | st.text(max_size=9),
    lambda own: st.lists(own, max_size=3) | st.dictionaries(KEYS, own, max_size=4),
    max_leaves=12,
)


@given(DOCUMENTS)
def test_any_document_is_survived(document):
    parse(json.dumps(document), Gathering())
