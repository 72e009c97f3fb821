from dataclasses import replace

from prism.analysis import diagnose
from prism.model import Source
from prism.rates.culprit_rates import beside_peers, culprit_of
from tests.prism.alerts.stories import TOPOLOGY, finding
from tests.prism.played import capture


def test_a_slow_nic_sends_slower_than_its_peers_and_than_before():
    flows, transits, topology, truth = capture("slow_nic")
    source = Source((), 0, len(flows), {}, *flows.window)
    found = diagnose(flows, source, topology=topology, transits=transits)
    claim = next(one for one in found.findings if one.severity != "info")
    told = beside_peers(flows, claim, found.jobs[0].job, topology, *flows.window)
    assert told["ids"] == list(claim.ids)
    assert told["peers_number"] >= 3
    assert len(told["culprit"]) == len(told["peers"]) == 120
    sending = told["sending"]
    assert sending["now"] < 0.7 * sending["usual"]
    assert sending["now"] < 0.7 * sending["peers"]
    assert all(edge["pair"].startswith(claim.ids[0]) for edge in told["edges"])
    assert truth["faults"]


def test_what_the_rates_are_of():
    assert culprit_of(finding(), None) == ("endpoint", ("10.0.5.1",))
    assert culprit_of(finding(ids=("leaf0", "spine0"), subject="link"), TOPOLOGY) == ("link", ("leaf0>spine0", "spine0>leaf0"))
    assert culprit_of(finding(ids=("a", "b"), subject="link"), None) == ("pair", ("a>b", "b>a"))
    assert culprit_of(finding(ids=("leaf0",), subject="switch"), TOPOLOGY) == ("switch", ("leaf0",))
    assert culprit_of(finding(ids=("server5",), subject="host"), TOPOLOGY) == ("endpoint", ("10.0.5.1",))


def test_a_finding_about_links_and_switches_has_rates():
    flows, transits, topology, _ = capture("slow_uplink")
    source = Source((), 0, len(flows), {}, *flows.window)
    found = diagnose(flows, source, topology=topology, transits=transits)
    claim = next(one for one in found.findings if one.severity != "info")
    job = found.jobs[0].job
    told = beside_peers(flows, claim, job, topology, *flows.window)
    assert max(told["culprit"]) > 0
    switch = replace(claim, subject="switch", ids=("leaf1",))
    assert max(beside_peers(flows, switch, job, topology, *flows.window)["culprit"]) > 0
