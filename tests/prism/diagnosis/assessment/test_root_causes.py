"""Test with handmade findings which one explains which."""

from dataclasses import replace

import pytest

from prism.diagnosis.assessment.root_causes import merge_by_cause, overlap
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
    lone = replace(note, detector="hang")  # the pause itself
    assert merge_by_cause([lone], [Event(kind, 10, 60)]) == [lone]


def test_what_was_given_is_not_changed():
    link = finding("slow_link", ("a",))
    merge_by_cause([link, finding("slow_rank", ("a",))], [])
    assert "symptoms" not in link.evidence
    assert merge_by_cause([], []) == []


def test_findings_overlap_by_their_share_of_the_shorter():
    one, other = finding("slow_rank", end=100), finding("slow_rank", start=60, end=120)
    assert overlap(one, other)
    assert not overlap(one, other, share=0.7)
