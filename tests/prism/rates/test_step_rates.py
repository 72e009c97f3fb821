from dataclasses import replace

import pytest

from prism.rates.step_rates import one_step, step_of
from tests.prism.web.conftest import recorded


def claim_of(name):
    board, records = recorded(name)
    finding = next(case.finding for case in board.cases if case.finding.severity != "info")
    found = next(job.found for job in board.jobs if job.id == finding.job)
    step = step_of(found, finding)
    return board, found, finding, step, records.between(step.start_ns, step.end_ns, endpoints=found.job.endpoints)


@pytest.fixture(scope="module")
def slow_nic():
    return claim_of("slow_nic")


def test_a_slow_nic_sends_as_much_as_its_peer_but_slower(slow_nic):
    board, found, finding, step, flows = slow_nic
    made = one_step(flows, found, finding, step, board.topology)
    culprit, peer = made["lanes"]
    assert culprit["endpoint"] == finding.ids[0]
    assert peer["endpoint"] not in finding.ids
    assert culprit["octets"] == pytest.approx(peer["octets"], rel=0.1)
    assert culprit["sending_ms"] > 1.5 * peer["sending_ms"]
    assert culprit["gbit_s"] < 0.7 * peer["gbit_s"]
    assert all(one["suspect"] for one in culprit["transfers"])
    assert not any(one["suspect"] for one in peer["transfers"])
    assert made["duration_ms"] == pytest.approx(max(one["end_ms"] for one in culprit["phases"]), rel=0.05)


def test_a_slow_link_is_seen_at_who_crosses_it():
    board, found, finding, step, flows = claim_of("slow_uplink")
    culprit, peer = one_step(flows, found, finding, step, board.topology)["lanes"]
    assert board.topology.leaf(culprit["endpoint"]) in finding.ids
    assert any(one["suspect"] for one in culprit["transfers"])
    assert culprit["sending_ms"] > 2 * peer["sending_ms"]


def test_without_its_records_or_steps_there_is_no_picture(slow_nic):
    board, found, finding, step, flows = slow_nic
    assert one_step(flows.take([]), found, finding, step, board.topology) is None
    assert step_of(found, replace(finding, start_ns=1, end_ns=2)) is None
