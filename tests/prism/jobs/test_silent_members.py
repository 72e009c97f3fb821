from prism.jobs._silent_members import silent_members
from prism.topology import Endpoint, Topology
from tests.prism.jobs.made import carried

NAMES = tuple(f"e{k}" for k in range(16))


def places(per_host):
    return Topology({name: Endpoint(f"h{k // per_host}", k % per_host, None) for k, name in enumerate(NAMES)})


def test_a_host_at_which_fewer_speak_has_silent_members():
    members = frozenset(range(15))
    ring = carried(*((k, (k + 1) % 15, 10**6) for k in range(15)))
    assert silent_members(NAMES, members, ring, places(4), set()) == ("e15",)
    assert silent_members(NAMES, members, ring, places(4), {"e15"}) == ()


def test_hosts_at_which_half_speak_have_silent_members():
    speaking = [0, 2, 4, 6, *range(8, 16)]  # trees leave out every second GPU of two of four hosts
    ring = carried(*((a, b, 10**6) for a, b in zip(speaking, speaking[1:] + speaking[:1], strict=True)))
    assert silent_members(NAMES, frozenset(speaking), ring, places(4), set()) == ("e1", "e3", "e5", "e7")


def test_a_job_with_most_gpus_of_its_hosts_has_all():
    speaking = [k for k in range(16) if k % 4 < 3]  # rings of few channels leave out the last rail
    ring = carried(*((a, b, 10**6) for a, b in zip(speaking, speaking[1:] + speaking[:1], strict=True)))
    assert silent_members(NAMES, frozenset(speaking), ring, places(4), set()) == ("e3", "e7", "e11", "e15")
    assert silent_members(NAMES, frozenset(speaking), ring, places(4), {"e3"}) == ("e7", "e11", "e15")


def test_a_job_whose_hosts_show_different_gpus_has_all_of_them():
    speaking = [k for k in range(16) if k not in (3, 7, 8, 11, 12)]  # three of four at two hosts, two at another, three
    ring = carried(*((a, b, 10**6) for a, b in zip(speaking, speaking[1:] + speaking[:1], strict=True)))
    assert silent_members(NAMES, frozenset(speaking), ring, places(4), set()) == ("e3", "e7", "e8", "e11", "e12")


def test_idle_endpoints_are_no_members():
    members = frozenset(range(0, 16, 2))  # one of two at each host, in a closed ring
    ring = carried(*((k, (k + 2) % 16, 10**6) for k in range(0, 16, 2)))
    assert silent_members(NAMES, members, ring, places(2), set()) == ()


def test_a_ring_through_hosts_passes_their_silent_endpoints():
    hops = [(4 * h + 3, (4 * h + 4) % 16) for h in range(4)]  # enters a host at its first, leaves it at its last
    ring = carried(*((s, d, 10**6) for s, d in hops))
    members = frozenset(end for hop in hops for end in hop)
    silent = silent_members(NAMES, members, ring, places(4), set())
    assert sorted(silent) == sorted(f"e{4 * h + k}" for h in range(4) for k in (1, 2))


def test_free_endpoints_of_few_hosts_belong_to_another_job():
    members = frozenset(range(0, 16, 4))  # one at each host
    ring = carried(*((k, (k + 4) % 16, 10**6) for k in range(0, 16, 4)))
    elsewhere = {NAMES[k] for k in range(16) if k % 4 and k != 1}
    assert silent_members(NAMES, members, ring, places(4), elsewhere) == ()
