from dataclasses import replace

import numpy as np
import pytest

from collectors.columns.losses import DISCARDS, ERRORS, Losses
from collectors.columns.record import Transits
from prism.diagnosis.assessment.confidence import completeness
from prism.diagnosis.attribution.finding_assessment import assess_findings
from prism.diagnosis.switch_evidence.switch_losses import with_switch_losses
from tests.prism.faults import BAD, FAULTS, NIC, TOPOLOGY, case, claims_of, found_in
from tests.prism.traffic import address, seen, training

FULL, ACL = 259, 258
LEAF = "leaf1"
NAMES = ("src", "dst", "in_interface", "out_interface", "reason", "packets")


def lossy(view, *rows):
    """Add loss rows (switch, src, dst, in_interface, out_interface, reason, packets, step) to a view; None if unknown."""
    switches = tuple(dict.fromkeys(row[0] for row in rows))
    columns = {name: [-1 if row[i] is None else row[i] for row in rows] for i, name in enumerate(NAMES, 1)}
    columns["exporter"] = [switches.index(row[0]) for row in rows]
    times = [view.during(row[7], row[7] + 1) for row in rows]
    columns["start_ns"], columns["end_ns"] = [begin + 1 for begin, _ in times], [end - 1 for _, end in times]
    losses = Losses.build(columns, switches, view.flows.endpoints)
    return replace(view, transits=replace(view.transits, losses=losses))


def located(view):
    """Return the only claim on a link or switch."""
    (one,) = assess_findings(view, claims_of(view), completeness(view))
    return one


def test_packets_that_were_dropped_are_evidence_of_the_link_they_were_on():
    view = lossy(
        case("slow NIC"),
        (LEAF, NIC - 1, NIC, 3, 7, FULL, 40, BAD[0]),
        (LEAF, NIC - 1, NIC, 3, 7, FULL, 2, BAD[2]),
        (LEAF, 8, 9, 1, 2, FULL, 500, BAD[0]),  # others' packets, at the same switch
        (LEAF, NIC - 1, NIC, 3, 7, FULL, 1, 1),  # before
    )
    one, plain = located(view), located(case("slow NIC"))
    (row,) = one.evidence["lost"]
    assert {name: row[name] for name in ("switch", "in_interface", "out_interface", "reason", "why", "packets")} == {
        "switch": LEAF, "in_interface": 3, "out_interface": 7, "reason": 259, "why": "no buffer space", "packets": 42,
    }  # fmt: skip
    assert one.start_ns <= row["start_ns"] < row["end_ns"] <= one.end_ns
    assert one.message == f"{plain.message}; leaf1 dropped 42 packets of these connections (no buffer space), usually 1"
    assert replace(one, message="", evidence={}) == replace(plain, message="", evidence={})  # who and how sure stays


def test_errors_at_a_ports_end_make_a_slow_link_a_lossy_one():
    errors = (LEAF, NIC, None, 7, None, ERRORS, 800, BAD[1])
    one = located(lossy(case("slow NIC"), errors))
    assert (one.detector, one.kind, one.ids) == ("lossy_link", "slow_link", (address(NIC),))
    assert one.message.endswith("leaf1 counted 800 errors at interface 7, usually 0")
    assert one.evidence["lost"][0].keys() == {"switch", "in_interface", "packets", "usual", "start_ns", "end_ns", "why"}
    assert one.evidence["lost"][0]["why"] == "errors"
    assert located(case("slow NIC")).detector == "event_graph"
    others = (LEAF, NIC + 1, None, 8, None, ERRORS, 800, BAD[1])
    assert "lost" not in located(lossy(case("slow NIC"), others)).evidence
    elsewhere = ("spine0", NIC, None, 8, None, ERRORS, 800, BAD[1])  # where it cannot hang
    assert "lost" not in located(lossy(case("slow NIC"), elsewhere)).evidence


def test_what_a_port_always_counts_says_nothing():
    always = [(LEAF, NIC, None, 7, None, ERRORS, 50, step) for step in range(12)]
    one = located(lossy(case("slow NIC"), *always))
    assert one.detector == "event_graph"
    assert "errors" not in one.message
    assert one.evidence["lost"][0]["usual"] > 50


def test_of_a_link_between_switches_interfaces_are_named_that_are_no_endpoints():
    view = lossy(
        case("slow uplink"),
        ("spine0", None, None, 11, None, ERRORS, 30, BAD[0]),
        (LEAF, None, None, None, 12, DISCARDS, 20, BAD[0]),
        (LEAF, NIC, None, 7, None, ERRORS, 99, BAD[0]),  # the port of a host
        (LEAF, 3, 4, 1, 2, FULL, 15, BAD[0]),  # goes up
        (LEAF, 5, 6, 1, 2, ACL, 17, BAD[0]),  # stays below the switch
        ("leaf0", None, None, 1, None, ERRORS, 70, BAD[0]),
    )
    one = located(view)
    assert one.ids == (LEAF, "spine0")
    rows = [(row["switch"], row["why"], row["packets"]) for row in one.evidence["lost"]]
    assert rows == [("spine0", "errors", 30), (LEAF, "discards", 20), (LEAF, "no buffer space", 15)]
    assert one.detector == "lossy_link"


def test_of_two_suspects_the_one_that_loses_packets_is_named():
    pair = (2, 3)
    wire = training(dp=8, rate=lambda step, *edge: 3.0 if edge == pair and step in BAD else 10.0)
    view = seen(wire.flows())
    assert located(view).ids == (address(2), address(3))
    errors = ("leaf0", 3, None, 7, None, ERRORS, 800, BAD[1])
    assert located(lossy(view, errors)).ids == (address(3),)
    both = ("leaf0", 2, None, 8, None, ERRORS, 300, BAD[1])
    assert located(lossy(view, errors, both)).ids == (address(2), address(3))
    dropped = ("leaf0", 2, 3, 7, 8, ACL, 800, BAD[1])
    assert located(lossy(view, dropped)).ids == (address(2), address(3))


def test_how_deep_queues_were_at_the_switch_of_a_slow_link():
    view = case("slow NIC")
    times, codes = view.begins + 1, np.zeros(len(view.begins), np.int32)
    depth = np.where((np.arange(len(times)) >= BAD.start) & (np.arange(len(times)) < BAD.stop), 90_000, 3000)
    none = np.zeros(len(times), np.int64)
    for name, known in ((LEAF, True), ("leaf0", False)):
        transits = Transits(times, codes, codes, none, none, none, (name,), 10, depth)
        evidence = located(replace(view, transits=transits)).evidence
        assert ("deepest_octets" in evidence) == known
        assert not known or evidence["deepest_octets"] == {LEAF: {"meanwhile": 90_000, "else": 3000}}
        assert "queues_ms" not in evidence


@pytest.mark.parametrize("fault", FAULTS)
def test_losses_by_themselves_accuse_nobody(fault):
    view = case(fault)
    last = len(view.ends)
    rows = [(LEAF, a, a + 1, 1, 2, FULL, 9000, step) for a in range(4, 8) for step in BAD if step < last]
    rows += [(LEAF, NIC, None, 7, None, ERRORS, 9000, step) for step in BAD if step < last]
    plain, more = (found_in(v) for v in (view, lossy(view, *rows)))
    assert [(f.kind, f.ids, f.severity, f.score) for f in plain] == [(f.kind, f.ids, f.severity, f.score) for f in more]


def test_other_findings_are_left_alone():
    view = case("slow NIC")
    finding = replace(claims_of(view)[0], kind="slow_rank")
    assert with_switch_losses(lossy(view, (LEAF, NIC, None, 7, None, ERRORS, 800, BAD[1])), finding) is finding
    assert with_switch_losses(view, claims_of(view)[0]) == claims_of(view)[0]
    assert TOPOLOGY.leaf(address(NIC)) == LEAF
    assert np.all(view.transits.losses.packets == 0)
