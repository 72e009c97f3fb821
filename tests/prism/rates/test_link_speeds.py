import numpy as np

from collectors.columns.record import Flows
from prism.rates.link_speeds import observed_speeds, speed
from prism.topology import parse

TEXT = '{"endpoints": {"10.0.0.1": {}}, "links": [["spine0", "leaf0"]], "gbit": {"10.0.0.1": 400, "spine0|leaf0": 800}}'


def flows(octets, took_ns, **more):
    many = 40
    columns = {"start_ns": np.arange(many) * 10**6, "octets": [octets] * many, "src": [0] * many, "dst": [1] * many, **more}
    columns["end_ns"] = columns["start_ns"] + took_ns
    return Flows.build(columns, endpoints=("10.0.0.1", "10.0.0.2"))


def test_the_topology_knows():
    topology = parse(TEXT, "t.json")
    assert speed(topology, "10.0.0.1") == 400
    assert speed(topology, "leaf0>spine0") == speed(topology, "spine0>leaf0") == 800
    assert speed(topology, "10.0.0.9") is speed(None, "10.0.0.1") is None


def test_large_messages_show_the_least_speed_that_fits():
    assert observed_speeds(flows(1 << 20, 90_000)) == {"10.0.0.1": 100.0, "10.0.0.2": 100.0}  # 93 Gbit/s
    assert observed_speeds(flows(1 << 20, 83_000)) == {"10.0.0.1": 100.0, "10.0.0.2": 100.0}  # 101: clocks
    assert observed_speeds(flows(1 << 10, 90)) == {}
    assert observed_speeds(flows(1 << 20, 90_000, sampling_rate=[64] * 40)) == {}
