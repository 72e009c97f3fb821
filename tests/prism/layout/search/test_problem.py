import json

import numpy as np

from prism.layout import constants
from prism.layout.search.problem import problem_of
from prism.topology import parse
from tests.prism.evidence.made import Wire, addresses
from tests.prism.layout.made import data_parallel, topology


def test_a_ring_through_hosts_is_open_and_goes_on_inside():
    wire = data_parallel(hosts=3, per_host=2)
    found = problem_of(wire.flows(), wire.endpoints, topology(wire.endpoints, 2))
    assert all(one.opened for one in found.found)
    assert found.opened == 1


def test_the_size_of_hosts_is_what_divides_all_silent_members_included():
    wire = data_parallel(hosts=3, per_host=2)
    silent = "10.0.9.9"
    assert problem_of(wire.flows(), wire.endpoints, topology(wire.endpoints, 2)).per_host == 2
    found = problem_of(wire.flows(), [*wire.endpoints, silent], topology([*wire.endpoints, silent], 2))
    assert (len(found.members), found.per_host) == (7, 1)


def test_members_are_in_order_of_the_numbers_of_their_hosts():
    wire = data_parallel(hosts=12, per_host=1)
    names = {"endpoints": {e: {"host": f"server{i}", "rail": 0, "leaf": "a"} for i, e in enumerate(wire.endpoints)}}
    found = problem_of(wire.flows(), wire.endpoints[::-1], parse(json.dumps(names), "made"))
    assert list(found.members) == list(wire.endpoints)


def test_nothing_that_repeats_is_no_problem():
    wire = data_parallel(steps=1, layers=1)
    wire.rows = wire.rows[:4]
    assert problem_of(wire.flows(), wire.endpoints, None) is None


def test_more_streams_than_can_be_compared_are_not_looked_at(monkeypatch):
    wire = data_parallel(hosts=4)
    placed = topology(wire.endpoints, 1)
    assert problem_of(wire.flows(), wire.endpoints, placed) is not None
    for name, most in (("MOST_STREAMS", 0), ("MOST_COMMUNICATORS", 0)):
        with monkeypatch.context() as patched:
            patched.setattr(constants, name, most)
            assert problem_of(wire.flows(), wire.endpoints, placed) is None


def test_little_traffic_counts_if_it_moves_throughout_the_step():
    wire = data_parallel(hosts=4, layers=1, octets=400_000_000)
    for step in range(8):
        for layer in range(10):
            for a, b in ((0, 1), (2, 3)):
                wire.send(a, b, step * 200 + 10 * layer, 2_000)
                wire.send(b, a, step * 200 + 10 * layer, 2_000)
    found = problem_of(wire.flows(), wire.endpoints, topology(wire.endpoints, 1))
    assert [one.octets < constants.WEIGHTY * found.octets for one in found.families] == [False, True]


def test_ranks_of_several_stages_are_no_replicas_though_they_exchange_little():
    """Each host is a stage of four pipelines. Ranks of the first and the last, of two pipelines, exchange 0.2 MB per step."""
    wire = Wire(addresses(4, 4))
    for step in range(8):
        for r in range(4):
            drift = step * 500 + float(wire.rng.normal(0, 1.0))
            for m in range(4):
                for s in range(3):
                    wire.send(4 * s + r, 4 * s + 4 + r, drift + 20 * m + 15 * s, 2_000_000)
                    wire.send(4 * s + 4 + r, 4 * s + r, drift + 160 + 20 * m + 15 * (4 - s), 2_000_000)
            for a, b in ((r, 15 - r), (15 - r, r)):
                wire.send(a, b, step * 500 + 350, 200_000)
    found = problem_of(wire.flows(), wire.endpoints, topology(wire.endpoints, 4))
    assert sorted(len(family[0].members) for family in found.families) == [2, 4]
    twins = np.array([[i // 4, i % 4, 0, 0] for i in range(16)])
    assert found.twins_closer(found.families, twins) == {}
