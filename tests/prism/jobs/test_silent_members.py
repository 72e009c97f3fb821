from prism.jobs._silent_members import silent_members
from prism.topology import Endpoint, Topology

NAMES = tuple(f"e{k}" for k in range(16))
PLACES = Topology({name: Endpoint(f"h{k // 4}", k % 4, None) for k, name in enumerate(NAMES)})


def test_gpus_of_its_hosts_that_send_nothing_belong_to_a_job():
    assert silent_members(NAMES, [frozenset(range(15))], PLACES, set()) == [["e15"]]
    assert silent_members(NAMES, [frozenset((0, 4))], PLACES, set()) == [["e1", "e2", "e3", "e5", "e6", "e7"]]


def test_gpus_that_others_use_do_not():
    assert silent_members(NAMES, [frozenset((0, 1, 2, 4, 5, 6))], PLACES, {"e3"}) == [["e7"]]


def test_of_a_shared_host_a_job_has_as_many_as_of_others():
    assert silent_members(NAMES, [frozenset((0, 1, 4))], PLACES, {"e3", "e7"}) == [["e5"]]


def test_endpoints_without_host_have_no_silent_mates():
    assert silent_members(("x", "y"), [frozenset((0, 1))], PLACES, set()) == [[]]


def test_free_endpoints_of_few_hosts_belong_to_another_job():
    elsewhere = {NAMES[k] for k in range(16) if k % 4 and k != 1}
    assert silent_members(NAMES, [frozenset(range(0, 16, 4))], PLACES, elsewhere) == [[]]


def test_silent_gpus_belong_to_one_job_the_one_that_would_have_a_power_of_two():
    hosts = Topology({f"e{k}": Endpoint(f"h{k // 8}", k % 8, None) for k in range(16)})
    names = tuple(hosts.endpoints)
    few, many = frozenset((0, 3, 8, 11)), frozenset((4, 5, 6, 7, 12, 13, 14, 15))
    assert silent_members(names, [many, few], hosts, set()) == [[], ["e1", "e2", "e9", "e10"]]
    assert silent_members(names, [frozenset((0, 1, 8)), frozenset((2, 3, 10))], hosts, {"e4", "e12"}) == [["e9"], ["e11"]]
