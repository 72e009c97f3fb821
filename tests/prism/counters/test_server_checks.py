import numpy as np

from prism.counters.server_checks import Split, agreement, by_name, by_topology
from prism.topology import Endpoint, Topology

PORTS = tuple((f"leaf{i // 4}", f"p{i}") for i in range(8))
SERVERS = {port: f"server{i // 2}" for i, port in enumerate(PORTS)}


def test_servers_whose_nics_are_in_no_other_job_agree():
    volume = np.full(8, 1e9)
    found = agreement(PORTS[:4], PORTS, volume, SERVERS)
    assert (found.servers, found.share, found.split) == (2, 1.0, ())
    found = agreement(PORTS[:3], PORTS, volume, SERVERS)
    assert (found.servers, found.share) == (2, 0.5)
    assert found.split == (Split("server1", PORTS[2:3], PORTS[3:4]),)


def test_a_port_without_traffic_says_nothing():
    volume = np.array([1e9] * 3 + [1e6] + [1e9] * 4)
    assert agreement(PORTS[:3], PORTS, volume, SERVERS).servers == 1
    assert np.isnan(agreement(PORTS[:3], PORTS, volume, {}).share)


def test_the_server_at_a_port():
    places = {f"10.0.0.{i}": Endpoint(f"server{i // 2}", i % 2, *PORTS[i][:1], port=PORTS[i][1]) for i in range(4)}
    assert by_topology(PORTS, Topology(places, ())) == {port: SERVERS[port] for port in PORTS[:4]}
    assert by_name([("node1", "mlx5_0")]) == {("node1", "mlx5_0"): "node1"}
