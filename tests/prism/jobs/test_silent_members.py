import numpy as np

from prism.jobs._silent_members import silent_members
from prism.topology import Endpoint, Topology
from tests.prism.jobs.made import MS, carried, edge, rhythm

NAMES = tuple(f"e{k}" for k in range(16))


def places(per_host):
    return Topology({name: Endpoint(f"h{k // per_host}", k % per_host, None) for k, name in enumerate(NAMES)})


def messages(count, pairs):
    """Edges with so many messages in each of 10 steps."""
    return [edge(s, d, [100 * step + 0.5 * k for step in range(10) for k in range(count)], lasts_ms=0.1) for s, d in pairs]


def test_a_host_at_which_fewer_speak_has_silent_members():
    members = frozenset(range(15))
    ring = carried(*((k, (k + 1) % 15, 10**6) for k in range(15)))
    assert silent_members(NAMES, members, [], ring, places(4), set()) == ("e15",)
    assert silent_members(NAMES, members, [], ring, places(4), {"e15"}) == ()


def test_hosts_at_which_half_speak_have_silent_members():
    speaking = [0, 2, 4, 6, *range(8, 16)]  # trees leave out every second GPU of two of four hosts
    ring = carried(*((a, b, 10**6) for a, b in zip(speaking, speaking[1:] + speaking[:1], strict=True)))
    assert silent_members(NAMES, frozenset(speaking), [], ring, places(4), set()) == ("e1", "e3", "e5", "e7")


def test_idle_endpoints_are_no_members():
    members = frozenset(range(0, 16, 2))  # one of two at each host, in a closed ring
    ring = carried(*((k, (k + 2) % 16, 10**6) for k in range(0, 16, 2)))
    assert silent_members(NAMES, members, [], ring, places(2), set()) == ()


def test_a_ring_through_hosts_has_as_many_ranks_as_its_rounds_tell():
    hops = [(4 * h + 3, (4 * h + 4) % 16) for h in range(4)]  # enters a host at its first, leaves it at its last
    ring = carried(*((s, d, 10**6) for s, d in hops))
    members = frozenset(end for hop in hops for end in hop)
    whole = silent_members(NAMES, members, [rhythm(messages(15, hops))], ring, places(4), set())
    assert sorted(whole) == sorted(f"e{4 * h + k}" for h in range(4) for k in (1, 2))
    assert silent_members(NAMES, members, [rhythm(messages(14, hops))], ring, places(4), set()) == ()


def test_rounds_are_counted_by_size():
    hops = [(4 * h + 3, (4 * h + 4) % 16) for h in range(4)]
    ring = carried(*((s, d, 10**6) for s, d in hops))
    both = []
    for reduced, gathered in zip(
        messages(15, hops), messages(8, hops), strict=True
    ):  # a ring, and exchanges with both neighbours
        start = np.concatenate([reduced.start, gathered.start + 50 * MS])
        sizes = np.repeat([10**6, 2 * 10**6], [len(reduced.rows), len(gathered.rows)])
        order = np.argsort(start)
        both.append(edge(reduced.src, reduced.dst, start[order] / MS, sizes[order], lasts_ms=0.1))
    members = frozenset(end for hop in hops for end in hop)
    assert len(silent_members(NAMES, members, [rhythm(both)], ring, places(4), set())) == 8


def test_a_quarter_of_the_rounds_fits_less_than_all_rounds_of_a_ring():
    hops = [(4 * h + 3, (4 * h + 4) % 16) for h in range(4)]
    ring = carried(*((s, d, 10**6) for s, d in hops))
    edges = messages(15, hops) + messages(4, [hop[::-1] for hop in hops])  # a ring, and neighbours that exchange two blocks
    members = frozenset(end for hop in hops for end in hop)
    assert len(silent_members(NAMES, members, [rhythm(edges)], ring, places(4), set())) == 8
