from dataclasses import replace

import numpy as np

from prism.jobs import recognize
from prism.jobs._packet_job_ids import by_job_id, main_job_ids
from tests.prism.traffic import address, training


def with_ids(flows, of):
    """The records with the job id that a function of their two ranks says."""
    rank = {address(r): r for r in range(64)}
    ends = [(rank[flows.endpoints[a]], rank[flows.endpoints[b]]) for a, b in zip(flows.src, flows.dst, strict=True)]
    return replace(flows, job_id=np.array([of(*pair) for pair in ends], np.uint32))


def codes(flows, ranks):
    return frozenset(flows.endpoints.index(address(r)) for r in ranks)


def two_jobs():
    wire = training(dp=4)
    training(dp=4, wire=wire, first=4, work=lambda _step, _rank: 27.0)
    return wire


def test_records_without_ids_change_nothing():
    flows = two_jobs().flows()
    groups = [codes(flows, range(4)), codes(flows, range(4, 8))]
    assert by_job_id(flows, groups) == groups
    assert not main_job_ids(flows).any()


def test_the_id_of_most_octets_counts():
    wire = training(dp=4)
    wire.send(0, 1, 10, 0)
    flows = wire.flows()
    octets = flows.octets.copy()
    ids = np.where(octets > 10, 7, 9).astype(np.uint32)
    assert main_job_ids(replace(flows, job_id=ids)).tolist() == [7] * 4


def test_a_group_of_two_ids_is_two():
    flows = with_ids(two_jobs().flows(), lambda a, _: 7 if a < 4 else 9)
    assert set(by_job_id(flows, [codes(flows, range(8))])) == {codes(flows, range(4)), codes(flows, range(4, 8))}


def test_groups_of_one_id_are_one_where_ids_distinguish_jobs():
    flows = with_ids(two_jobs().flows(), lambda _, __: 7)
    apart = [codes(flows, range(4)), codes(flows, range(4, 8))]
    assert by_job_id(flows, apart) == apart  # one id for all may be a default
    wire = two_jobs()
    training(dp=4, wire=wire, first=8, work=lambda _step, _rank: 15.0)
    flows = with_ids(wire.flows(), lambda a, _: 7 if a < 8 else 9)
    groups = [codes(flows, range(4)), codes(flows, range(4, 8)), codes(flows, range(8, 12))]
    assert set(by_job_id(flows, groups)) == {codes(flows, range(8)), codes(flows, range(8, 12))}


def test_who_has_no_id_stays_with_the_largest_part():
    flows = with_ids(two_jobs().flows(), lambda a, b: 0 if 3 in (a, b) else 7 if a < 4 else 9)
    found = by_job_id(flows, [codes(flows, range(8))])
    assert set(found) == {codes(flows, [0, 1, 2]), codes(flows, [3, 4, 5, 6, 7])}


def test_jobs_that_exchange_payload_are_distinguished_by_their_ids():
    wire = training(dp=8)
    flows = wire.flows()
    assert [len(job.endpoints) for job in recognize(flows)] == [8]
    flows = with_ids(flows, lambda a, b: 7 if max(a, b) < 4 else 9 if min(a, b) > 3 else 0)
    assert sorted(len(job.endpoints) for job in recognize(flows)) == [4, 4]


def test_no_records_have_no_ids():
    flows = training(dp=4).flows().take(slice(0, 0))
    assert by_job_id(flows, []) == []
