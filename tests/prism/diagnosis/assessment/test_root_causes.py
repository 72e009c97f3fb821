"""Test with handmade findings which one explains which."""

from dataclasses import replace

import pytest

from prism.detectors.switch_queues import BEHIND
from prism.diagnosis.assessment.root_causes import merge_by_cause
from prism.model import Event, Finding, Severity

INFO, WARNING, CRITICAL = Severity


def finding(kind, ids=("a",), *, start=0, end=100, severity=WARNING, score=10.0, **evidence):
    return Finding(kind, kind, "job", severity, "endpoint", ids, start, end, 1.5, score, f"{kind} of {ids[0]}", evidence)


def loud(findings):
    return [(f.kind, f.ids) for f in findings if f.severity is not INFO]


def test_independent_causes_are_each_told_the_strongest_first():
    found = merge_by_cause([finding("slow_rank", ("a",), score=8), finding("slow_rank", ("b",), score=9)], [])
    assert loud(found) == [("slow_rank", ("b",)), ("slow_rank", ("a",))]


@pytest.mark.parametrize("order", [1, -1])
def test_a_symptom_becomes_evidence_of_its_cause(order):
    link, rank = finding("slow_link", ("a",), score=8), finding("slow_rank", ("a",), score=50)
    found = merge_by_cause([link, rank][::order], [])
    assert loud(found) == [("slow_link", ("a",))]
    assert found[0].evidence["symptoms"] == [rank.message]
    assert len(found) == 1


def test_a_link_explains_the_ends_of_its_slow_edges():
    link = finding("slow_link", ("leaf0", "spine0"), edges=[["a", "b"]])
    assert loud(merge_by_cause([link, finding("slow_rank", ("b",))], [])) == [("slow_link", ("leaf0", "spine0"))]
    assert len(loud(merge_by_cause([link, finding("slow_rank", ("c",))], []))) == 2


@pytest.mark.parametrize("kind", ["crash", "hang"])
def test_a_hang_or_crash_explains_whatever_else_was_slow_meanwhile(kind):
    found = merge_by_cause([finding("slow_rank", ("b",)), finding(kind, ("a",))], [])
    assert loud(found) == [(kind, ("a",))]


def test_another_time_has_another_cause():
    found = merge_by_cause([finding("slow_link", ("a",)), finding("slow_rank", ("a",), start=90, end=190)], [])
    assert len(loud(found)) == 2


def test_info_alone_stays_info_and_within_a_claim_s_time_is_its_symptom():
    note = finding("slow_step", ("job",), severity=INFO)
    assert merge_by_cause([note], []) == [note]
    (told,) = merge_by_cause([note, finding("slow_rank", ("a",))], [])
    assert told.evidence["symptoms"] == [note.message]
    later = replace(note, start_ns=200, end_ns=300)
    assert merge_by_cause([later, finding("slow_rank", ("a",))], [])[1:] == [later]


@pytest.mark.parametrize(("kind", "told"), [("evaluation", 0), ("checkpoint", 0), ("start", 1), ("stop", 1)])
def test_a_pause_explains_a_long_step(kind, told):
    note = finding("slow_step", ("job",), severity=INFO)
    assert len(merge_by_cause([note], [Event(kind, 10, 60)])) == told
    assert len(merge_by_cause([note], [Event(kind, 150, 200)])) == 1


def test_what_was_given_is_not_changed():
    link = finding("slow_link", ("a",))
    merge_by_cause([link, finding("slow_rank", ("a",))], [])
    assert "symptoms" not in link.evidence
    assert merge_by_cause([], []) == []


@pytest.mark.parametrize("order", [1, -1])
def test_who_came_last_explains_who_seemed_to_work_meanwhile(order):
    """Ranks that wait for the last may seem to work; of two late ranks each may be the cause."""
    last = replace(finding("slow_rank", ("a",), score=8), detector="late_rank")
    works, later = finding("slow_rank", ("b",), score=9), replace(last, ids=("c",), score=7)
    assert loud(merge_by_cause([last, works][::order], [])) == [("slow_rank", ("a",))]
    assert loud(merge_by_cause([last, later], [])) == [("slow_rank", ("a",)), ("slow_rank", ("c",))]


@pytest.mark.parametrize(("clear", "told"), [(20.0, "slow_rank"), (200.0, "slow_link")])
def test_a_laggard_leaves_nobody_else_to_blame_but_a_link_that_stands_out_much_more(clear, told):
    lagging = replace(finding("slow_rank", ("b",), score=8), detector="laggard")
    found = merge_by_cause([lagging, finding("slow_link", ("a",), score=clear)], [])
    assert [kind for kind, _ in loud(found)] == [told]


@pytest.mark.parametrize("detector", ["late_rank", "lately"])
def test_who_was_last_or_slow_all_through_kept_waiting_who_seems_to_work(detector):
    last = replace(finding("slow_rank", ("a",), score=9), detector=detector)
    assert loud(merge_by_cause([finding("slow_rank", ("b",), score=50), last], [])) == [("slow_rank", ("a",))]


def test_who_left_nobody_else_to_blame_is_told_of_as_what_stands_out_most():
    lagging = replace(finding("slow_rank", ("a",), score=20), detector="laggard", message="lost it all")
    clearer, waited = finding("slow_rank", ("a",), score=60), finding("slow_rank", ("b",), score=90)
    (one,) = merge_by_cause([waited, clearer, lagging], [])
    assert (one.detector, one.ids) == ("slow_rank", ("a",))
    assert one.evidence["symptoms"] == ["lost it all", waited.message]
    assert merge_by_cause([lagging, replace(clearer, score=5.0)], [])[0].detector == "laggard"


@pytest.mark.parametrize("known", [True, False])
def test_a_link_on_which_packets_waited_before_its_senders_slowed_down_was_slow_then(known):
    steps = {"steps": [5, 9]} if known else {}
    link = finding("slow_link", ("leaf1", "spine0"), start=40, score=60, **steps)
    waited = finding("slow_link", ("leaf1", "spine0"), start=10, score=20, steps=[3, 9])
    waited = replace(waited, detector=BEHIND, message="packets waited")
    (one,) = merge_by_cause([waited, link], [])
    assert (one.detector, one.start_ns, one.evidence["symptoms"]) == ("slow_link", 10, ["packets waited"])
    assert one.evidence.get("steps") == ([3, 9] if known else None)
    (other,) = merge_by_cause([replace(waited, ids=("leaf1", "spine1")), link], [])
    assert other.start_ns == 40


@pytest.mark.parametrize(
    ("rank", "score", "told"), [("b", 60, ["slow_rank"]), ("b", 5, ["slow_link", "slow_rank"]), ("a", 60, ["slow_link"])]
)
def test_a_link_seems_slow_where_a_neighbour_of_its_sender_hands_on_late(rank, score, told):
    """A ring goes from b to a inside a host, then to c. A link of rank a itself delays a."""
    host = {"a": "server1", "b": "server1"}.get
    link = replace(finding("slow_link", ("a", "c"), edges=[["a", "c"]]), subject="link")
    slow = finding("slow_rank", (rank,), score=score, ranks=[rank])
    assert sorted(kind for kind, _ in loud(merge_by_cause([link, slow], [], lambda a: host(a, a)))) == told


@pytest.mark.parametrize(("lost", "its", "told"), [(800.0, 240.0, ["slow_link"]), (300.0, 240.0, ["slow_link", "slow_rank"])])
def test_behind_a_link_that_takes_most_of_what_steps_lost_a_rank_only_seems_to_work(lost, its, told):
    link = finding("slow_link", ("a",), lost_ms_per_step=lost)
    found = merge_by_cause([link, finding("slow_rank", ("b",), score=9, lost_ms_per_step=its)], [])
    assert [kind for kind, _ in loud(found)] == told


@pytest.mark.parametrize(
    ("waits", "rank", "told"),
    [(1.7, "b", "slow_link"), (0.6, "b", "slow_rank"), (1.7, "c", "slow_rank"), (None, "b", "slow_rank")],
)
def test_whose_packets_wait_for_all_that_steps_take_longer_did_not_work_for_it(waits, rank, told):
    link = finding("slow_link", ("leaf1", "spine0"), edges=[["a", "b"]], **({} if waits is None else {"waits_at_worst": waits}))
    lagging = replace(finding("slow_rank", (rank,), score=9, ranks=[rank]), detector="laggard")
    assert loud(merge_by_cause([replace(link, detector=BEHIND), lagging], []))[0][0] == told


@pytest.mark.parametrize(
    ("detector", "queues", "told"),
    [("late_rank", {"leaf0 > spine0": 27.0}, 1), ("late_rank", {}, 2), ("slow_rank", {"leaf0 > spine0": 27.0}, 2)],
)
def test_who_is_last_where_packets_are_seen_to_wait_at_a_link_waits_for_them(detector, queues, told):
    """Without visible queues, or if a rank works longer, both claims remain."""
    link = finding("slow_link", ("leaf0", "spine0"), score=9, edges=[["a", "b"]], queues_ms=queues)
    rank = replace(finding("slow_rank", ("c",), score=14), detector=detector)
    found = loud(merge_by_cause([link, rank], []))
    assert len(found) == told
    assert ("slow_link", ("leaf0", "spine0")) in found
