"""Test which edges deviate together, when, and which of them only wait for others."""

from types import SimpleNamespace

import numpy as np
import pytest

from prism.detectors.observations.edge_anomalies import Incident, erratic, head_of_chain, incidents, without_fed_edges
from prism.topology import Endpoint, Topology


def test_an_incident_begins_where_most_of_its_edges_are_slow():
    """One of the two also sent slightly more slowly in the two previous steps."""
    moved = np.random.default_rng(0).normal(0, 0.05, (6, 30))
    moved[:2, 10:16] += 3.0
    moved[1, 8:10] += 1.7
    (one,) = incidents([(i, i + 1) for i in range(6)], moved, np.log(1.3), 6.0)
    assert (one.start, one.stop, one.bad) == (10, 16, [(0, 1), (1, 2)])


@pytest.mark.parametrize(
    ("slow", "expected"),
    [
        ({(5, 4): 3.0, (5, 6): 2.9, (3, 2): 2.4, (2, 1): 1.2}, {(5, 4), (5, 6)}),  # all over which 5 sends
        ({(4, 5): 3.0, (6, 5): 2.9, (3, 2): 2.4}, {(4, 5), (6, 5)}),  # or is sent
        ({(5, 4): 3.0, (5, 6): 2.5, (3, 2): 2.4}, {(5, 4), (5, 6), (3, 2)}),  # hardly slower than what else is
        ({(5, 4): 3.0, (3, 2): 2.4, (2, 1): 1.2}, {(5, 4), (3, 2)}),  # not all, and what 2 hands on
        ({(5, 4): 3.0, (4, 5): 1.0}, {(5, 4), (4, 5)}),  # the way back is no handing on
    ],
)
def test_what_is_slow_at_second_hand_is_left_out(slow, expected):
    edges = [(a, b) for a in range(8) for b in (a - 1, a + 1) if 0 <= b < 8]
    moved = {edge: np.full(6, slow.get(edge, 0.0)) for edge in edges}
    one = Incident(1, 4, 2.0, 10.0, [*slow], [e for e in edges if e not in slow], [*slow])
    assert set(without_fed_edges(one, moved, np.log(1.3)).bad) == expected


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ([(1, 2), (3, 4), (5, 6)], [(1, 2)]),  # 2 and 3, 4 and 5 share hosts, where they hand on
        ([(3, 4), (4, 6), (1, 2)], [(1, 2)]),
        ([(1, 2), (5, 6)], [(1, 2), (5, 6)]),  # nothing joins them
        ([(1, 2), (3, 4), (3, 6)], [(1, 2), (3, 4), (3, 6)]),  # no ring: it sends to two
        ([(1, 2), (3, 0)], [(1, 2), (3, 0)]),  # all around: none is the first
    ],
)
def test_of_edges_that_follow_each_other_around_a_ring_the_first_tells(bad, expected):
    flows = SimpleNamespace(endpoints=tuple(f"10.0.0.{i}" for i in range(8)))
    places = {address: Endpoint(f"host{i // 2}", 0, None) for i, address in enumerate(flows.endpoints)}
    one = Incident(1, 4, 2.0, 10.0, bad, [(7, 6)], bad)
    assert head_of_chain(SimpleNamespace(flows=flows, topology=Topology(places)), one).bad == expected


@pytest.mark.parametrize(("else_", "expected"), [(0.05, False), (0.8, True)])
def test_what_varies_as_much_at_other_times_is_erratic(else_, expected):
    row = else_ * (np.arange(26) % 3 - 1.0)
    row[19:] += 1.1
    one = Incident(19, 26, 1.1, 40.0, [(0, 8)], [(1, 2)], [(0, 8)])
    assert erratic(one, {(0, 8): row}) is expected
    assert not erratic(one._replace(start=5), {(0, 8): row})  # too few others
