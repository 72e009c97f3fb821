import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.columns.record import COLUMNS, Flows
from prism.jobs import around, recognize
from prism.jobs.endpoint_pairs import pairs_of, parts, split_by_part
from prism.model import Job
from prism.topology import Endpoint, Topology
from tests.prism.traffic import Wire, placed, training


def flows_of(*records):
    """Records (sender, receiver, octets) a nanosecond apart."""
    names = sorted({end for record in records for end in record[:2]})
    columns = {
        "start_ns": np.arange(len(records)),
        "end_ns": np.arange(len(records)) + 5,
        "src": [names.index(src) for src, _, _ in records],
        "dst": [names.index(dst) for _, dst, _ in records],
        "octets": [octets for _, _, octets in records],
    }
    return Flows.build(columns, endpoints=tuple(names))


def named(pairs, topology=None):
    return [{pairs.endpoints[code] for code in part} for part in parts(pairs, topology)]


def test_pairs_sum_up_what_each_moved_and_when():
    found = pairs_of(flows_of(("a", "b", 3), ("b", "a", 1), ("a", "b", 0), ("a", "b", 4)))
    told = sorted(
        zip(
            *(c.tolist() for c in (found.src, found.dst, found.octets, found.records, found.first_ns, found.last_ns)),
            strict=True,
        )
    )
    assert told == [(0, 1, 7, 2, 0, 8), (1, 0, 1, 1, 1, 6)]
    assert found.window == (0, 8)
    assert len(pairs_of(flows_of())) == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"), st.integers(0, 2)), max_size=30))
def test_sums_of_pairs_are_as_in_the_plain_twin(records):
    found = pairs_of(flows_of(*records))
    told = zip(found.src, found.dst, found.octets, found.records, found.first_ns, found.last_ns, strict=True)
    expected = {}
    for i, (src, dst, octets) in enumerate(records):
        moved, some, first, _ = expected.get((src, dst), (0, 0, i, 0))
        expected[src, dst] = moved + octets, some + (octets > 0), first, i + 5
    assert {(found.endpoints[src], found.endpoints[dst]): tuple(sums) for src, dst, *sums in told} == expected


def test_parts_are_joined_by_pairs_that_keep_moving_something():
    talk, apart = [("a", "b", 9), ("c", "d", 1)] * 3, Topology({name: Endpoint(name, None, None) for name in "abcd"})
    assert named(pairs_of(flows_of(*talk)), apart) == [{"a", "b"}, {"c", "d"}]
    assert named(pairs_of(flows_of(*talk, *[("b", "c", 1)] * 2)), apart) == [{"a", "b"}, {"c", "d"}]
    assert named(pairs_of(flows_of(*talk, *[("b", "c", 1)] * 3)), apart) == [{"a", "b", "c", "d"}]
    assert named(pairs_of(flows_of()), apart) == []


def test_without_a_topology_all_that_keeps_moving_is_one_part():
    assert named(pairs_of(flows_of(*[("a", "b", 9), ("c", "d", 1)] * 3, ("x", "y", 1)))) == [{"a", "b", "c", "d"}]
    assert named(pairs_of(flows_of())) == []


def test_hosts_join_parts_and_strangers_do_not():
    hosts = {"a": "one", "b": "two", "c": "two", "d": "three"}
    topology = Topology({name: Endpoint(host, None, None) for name, host in hosts.items()})
    found = pairs_of(flows_of(*[("a", "b", 9), ("c", "d", 1)] * 3))
    assert named(found, topology) == [{"a", "b", "c", "d"}]
    stored = pairs_of(flows_of(*[("a", "b", 9), ("store", "a", 1), ("c", "store", 1), ("store", "d", 1)] * 3))
    assert named(stored, topology) == [{"a", "b", "c"}]  # c stands in b's host


def test_each_part_has_the_records_around_it():
    flows = flows_of(*[("a", "b", 9), ("c", "d", 1), ("b", "c", 2), ("x", "a", 1)] * 2, ("a", "b", 1), ("c", "d", 1))
    topology = Topology({name: Endpoint(name, None, None) for name in "abcd"})
    own = parts(pairs_of(flows), topology)
    found = list(split_by_part(flows, own))
    for part, members in zip(found, own, strict=True):
        job = Job("j", tuple(flows.endpoints[code] for code in members), (), 0, 1)
        expected = around(flows, job)
        assert part.endpoints == expected.endpoints
        assert part.start_ns.tolist() == expected.start_ns.tolist()
        assert part.src.tolist() == expected.src.tolist()
    assert [len(part) for part in found] == [7, 5]


ends = st.sampled_from("abcdef")


@given(st.lists(st.tuples(ends, ends, st.integers(0, 9)), max_size=40), st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_records_around_random_parts_are_those_of_a_job_of_the_same_endpoints(records, part_of):
    flows = flows_of(*records, ("a", "f", 1))
    part_of = np.array(part_of[: len(flows.endpoints)])
    own = [np.flatnonzero(part_of == part) for part in range(3) if (part_of == part).any()]  # 3 is no part
    for part, members in zip(split_by_part(flows, own), own, strict=True):
        expected = around(flows, Job("j", tuple(flows.endpoints[code] for code in members), (), 0, 1))
        assert (part.endpoints, part.paths) == (expected.endpoints, expected.paths)
        for column in COLUMNS:
            assert getattr(part, column.name).tolist() == getattr(expected, column.name).tolist()


def test_jobs_are_recognised_part_by_part_as_in_the_whole():
    wire = Wire(tcp=True)
    training(dp=4, wire=wire)
    flows = training(dp=4, wire=wire, first=12).flows()
    own = list(split_by_part(flows, parts(pairs_of(flows), placed(16))))
    assert len(own) == 2
    jobs = {job for part in own for job in recognize(part, placed(16), window=flows.window)}
    assert jobs == set(recognize(flows, placed(16)))
    assert len(jobs) == 2
