from dataclasses import replace

import numpy as np
import pytest

from prism.model import Finding, Severity
from prism.tracking.board import Case
from prism.tracking.case_tracking import JobProgress, TrackedFinding, follow, reset_baselines, with_unconfirmed

S = 1_000_000_000


def finding(start, end, *, who="10.0.0.5", kind="slow_rank", slowdown=1.5, severity=Severity.WARNING, confidence=0.95):
    return Finding(kind, kind, "j", severity, "endpoint", (who,), start * S, end * S, slowdown, 9.0, "m", {}, confidence, 1.0)


def job(now, *, talked=None, running=True, slow=()):
    lengths = [2.0 if k in slow else 1.0 for k in range(int(now) + 1)]
    return {"j": JobProgress(1.0 * S, int((talked or now) * S), running, (np.cumsum(lengths) * S).astype(np.int64))}


def told(tracked):
    return [entry.case for entry in tracked if entry.told]


def test_a_claim_opens_when_a_second_window_agrees_keeps_its_name_and_closes_when_it_is_over():
    tracked = follow((), [finding(10, 12)], job(12), 12 * S)
    assert told(tracked) == []
    tracked = follow(tracked, [finding(10, 13)], job(13), 13 * S)
    (case,) = told(tracked)
    assert (case.state, case.opened_ns) == ("open", 13 * S)
    for now in range(14, 17):
        tracked = follow(tracked, [finding(10, 13)], job(now), now * S)
    tracked = follow(tracked, [], job(17), 17 * S)
    tracked = follow(tracked, [], job(18), 18 * S)
    (closed,) = told(tracked)
    assert (closed.id, closed.state, closed.opened_ns) == (case.id, "closed", 13 * S)
    assert closed.closed_ns > 13 * S


def test_what_was_told_stays_as_it_was_when_a_window_is_analysed_again():
    case = Case("c", finding(1, 5), "open", 5, 5)
    known, new = TrackedFinding(case, 0.1, 5, told=True), TrackedFinding(replace(case, id="d"), 0.5, 5)
    updated = replace(known, case=replace(case, updated_ns=9))
    assert with_unconfirmed((known,), (updated, new, replace(new, case=replace(case, id="e"), told=True))) == (known, new)


def test_a_constant_fault_keeps_its_severity():
    tracked, severities = (), []
    for now, slowdown in ((12, 2.63), (13, 2.04), (14, 1.4), (15, 2.6), (16, 1.45)):
        severity = Severity.CRITICAL if slowdown >= 1.5 else Severity.WARNING
        tracked = follow(tracked, [finding(10, now, slowdown=slowdown, severity=severity)], job(now), now * S)
        severities += [(case.finding.severity, case.finding.slowdown) for case in told(tracked)]
    assert severities == [(Severity.CRITICAL, number) for number in (2.04, 1.4, 2.6, 1.45)]


def test_what_one_window_says_is_not_told():
    tracked = follow((), [finding(10, 12)], job(12), 12 * S)
    for now in range(13, 17):
        tracked = follow(tracked, [], job(now), now * S)
    assert tracked == ()


def test_what_was_over_before_it_was_seen_is_not_told():
    tracked = ()
    for now in range(20, 25):
        tracked = follow(tracked, [finding(10, 13)], job(now), now * S)
    assert told(tracked) == []


def test_windows_that_end_in_the_same_step_are_one_look_at_what_costs_little():
    tracked = ()
    for tenth in range(120, 126):
        tracked = follow(tracked, [finding(10, 12, slowdown=1.06)], job(12), tenth * S // 10)
    assert told(tracked) == []
    assert told(follow(tracked, [finding(10, 12.6, slowdown=1.06)], job(13), 13 * S)) != []
    assert told(follow(tracked, [finding(10, 12, slowdown=1.2)], job(12), 13 * S)) != []


def test_windows_that_saw_the_same_are_no_surer_together():
    unsure = finding(10, 12, confidence=0.63)
    tracked = ()
    for tenth in range(120, 126):
        tracked = follow(tracked, [unsure], job(12), tenth * S // 10)
    assert told(tracked) == []
    assert told(follow(tracked, [replace(unsure, end_ns=13 * S)], job(13), 13 * S)) != []
    assert told(follow(tracked, [replace(unsure, confidence=0.85)], job(13), 13 * S)) != []


def test_a_hang_that_no_window_saw_while_it_lasted_is_not_told():
    silent = finding(10, 13, kind="hang", severity=Severity.CRITICAL)
    assert told(follow((), [silent], job(30), 30 * S)) == []
    tracked = follow((), [silent], job(13.5), round(13.5 * S))
    assert told(tracked) == []  # its steps may have other bounds in the next window
    assert len(told(follow(tracked, [silent], job(14), 14 * S))) == 1
    late = {"j": replace(job(14)["j"], known_ns=14 * S)}
    assert told(follow((), [silent], late, 14 * S)) == []


def test_for_an_outage_that_is_over_nobody_else_is_named():
    """Later windows have lost sight of steps that told who was due."""
    tracked = ()
    for now in range(12, 22):
        silent = finding(10, min(now, 14), kind="hang", severity=Severity.CRITICAL)
        tracked = follow(tracked, [silent] if now < 16 else [], job(now, talked=now if now > 14 else 10), now * S)
    assert [case.state for case in told(tracked)] == ["closed"]
    again = finding(10, 14, who="10.0.0.9", kind="hang", severity=Severity.CRITICAL)
    assert told(follow(tracked, [again], job(22), 22 * S)) == told(tracked)
    new = finding(20, 22, who="10.0.0.9", kind="hang", severity=Severity.CRITICAL)
    assert len(told(follow(tracked, [new], job(22), 22 * S))) == 2


def test_who_was_always_slow_must_be_so_for_longer():
    tracked = ()
    for now, shown in ((5, []), (6, []), (7, ["open"])):
        tracked = follow(tracked, [finding(0, now)], job(now), now * S)
        assert [case.state for case in told(tracked)] == shown


@pytest.mark.parametrize("kind", ["hang", "crash"])
def test_that_a_job_stands_still_is_reported_at_once_and_lasts_while_it_does(kind):
    tracked = follow((), [finding(10, 12, kind=kind)], job(10), 12 * S)
    assert len(told(tracked)) == 1
    for now in range(13, 60):
        tracked = follow(tracked, [], job(now, talked=10, running=False), now * S)
    assert told(tracked)[0].state == "open"
    for now in range(60, 66):
        tracked = follow(tracked, [], job(now), now * S)
    assert told(tracked)[0].state == "closed"


def opened(kind="slow_rank"):
    tracked = follow((), [finding(10, 12, kind=kind)], job(12), 12 * S)
    return follow(tracked, [finding(10, 13, kind=kind)], job(13), 13 * S)


def test_a_case_lasts_while_steps_are_as_slow_as_it_made_them():
    tracked = opened()
    for now in range(14, 40):
        tracked = follow(tracked, [], job(now, slow=range(10, 60)), now * S)
    assert told(tracked)[0].state == "open"


def test_what_a_case_costs_is_seen_from_its_own_steps_where_a_window_has_only_others_to_compare_with():
    slow = range(10, 60)
    tracked = follow((), [finding(12, 16, slowdown=2.0)], job(13, slow=slow), 16 * S)
    tracked = follow(tracked, [finding(12, 18, slowdown=2.0)], job(14, slow=slow), 18 * S)
    tracked = follow(tracked, [finding(12, 20, slowdown=4.0)], job(15, slow=slow), 20 * S)
    for now in range(16, 40):
        tracked = follow(tracked, [], job(now, slow=slow), (2 * now - 10) * S)
    assert told(tracked)[0].state == "open"


@pytest.mark.parametrize(
    ("start", "since", "begins"),
    [
        (11, 0, 11),  # what came before was another's
        (8, 0, 8),
        (16, 0, 10),  # it began when it was seen first, and goes on
        (11, 9.5, 10),  # a window that it fills
        (14, 11, 10),  # one that has not seen when it began
    ],
)
def test_when_a_case_began_is_what_the_newest_window_says_that_saw_it(start, since, begins):
    tracked = follow((), [finding(10, 15)], job(15), 15 * S)
    tracked = follow(tracked, [finding(10, 16)], job(16), 16 * S)
    tracked = follow(tracked, [finding(start, 18)], {"j": replace(job(18)["j"], since_ns=int(since * S))}, 18 * S)
    assert [case.finding.start_ns for case in told(tracked)] == [begins * S]


def test_when_an_outage_began_is_the_earliest_that_a_window_says():
    tracked = follow((), [finding(10, 12, kind="hang")], job(10), 12 * S)
    tracked = follow(tracked, [finding(11, 14, kind="hang")], job(10), 14 * S)
    assert [case.finding.start_ns for case in told(tracked)] == [10 * S]


def test_a_case_that_is_open_goes_on_after_a_time_in_which_nobody_listened():
    tracked = follow(opened(), [finding(30, 36)], job(36), 36 * S)
    tracked = follow(tracked, [finding(30, 37)], job(37), 37 * S)
    (case,) = told(tracked)
    assert (case.id, case.state) == (told(opened())[0].id, "open")


def test_another_culprit_takes_its_place():
    tracked = opened()
    for now in range(14, 24):
        slow = job(now, slow=range(10, 60))
        tracked = follow(tracked, [finding(12, now, who="10.0.0.9")], slow, now * S)
    assert {case.finding.ids[0]: case.state for case in told(tracked)} == {"10.0.0.5": "closed", "10.0.0.9": "open"}


def test_steps_that_are_cut_elsewhere_name_nobody_else_for_a_time_that_was_reported():
    tracked = opened()
    for now in range(14, 17):
        elsewhere = {"j": replace(job(now)["j"], ends=job(now)["j"].ends + S // 3)}
        tracked = follow(tracked, [finding(11, now, who="10.0.0.9")], elsewhere, now * S)
    assert [case.finding.ids for case in told(tracked)] == [("10.0.0.5",)]
    later = follow(tracked, [finding(15, 17, who="10.0.0.9")], elsewhere, 17 * S)
    assert len(later) == 2  # that was told for no later time


def test_steps_are_not_cut_elsewhere_because_a_case_began_after_a_pause():
    begun = replace(finding(10, 12), start_ns=10 * S + S // 3, evidence={"paused_ms": 333.333333})
    tracked = follow(follow((), [begun], job(12), 12 * S), [replace(begun, end_ns=13 * S)], job(13), 13 * S)
    tracked = follow(tracked, [finding(11, 14, who="10.0.0.9")], job(14), 14 * S)
    assert len(tracked) == 2


def closed(kind="slow_rank"):
    tracked = opened(kind)
    for now in range(14, 20):
        tracked = follow(tracked, [], job(now), now * S)
    assert told(tracked)[0].state == "closed"
    return tracked


def test_one_that_goes_on_after_it_was_closed_opens_again_if_two_windows_agree_and_an_echo_of_it_does_not():
    tracked = closed()
    states = []
    for now, until in ((20, 13), (21, 21), (22, 13), (23, 23), (24, 0), (25, 25), (26, 26)):
        tracked = follow(tracked, [finding(10, until)] if until else [], job(now), now * S)
        assert len(told(tracked)) == 1
        states.append(told(tracked)[0].state)
    assert states == ["closed"] * 6 + ["open"]


def test_an_outage_that_goes_on_after_it_was_closed_opens_again_at_once():
    tracked = closed("hang")
    tracked = follow(tracked, [finding(12, 20, kind="hang")], job(20), 20 * S)
    assert [case.state for case in told(tracked)] == ["open"]


def test_info_is_a_case_of_its_own_and_a_claim_told_as_info_is_still_that_claim():
    quiet = finding(10, 13, severity=Severity.INFO)
    tracked = follow(opened(), [replace(quiet, end_ns=14 * S)], job(14), 14 * S)
    (case,) = told(tracked)
    assert case.finding.severity is Severity.WARNING
    assert len(told(follow((), [quiet], job(13), 13 * S))) == 1


def test_jobs_that_were_not_looked_at_are_left_alone():
    tracked = opened()
    assert follow(tracked, [], {}, 99 * S) == tracked


def test_a_window_that_a_claim_fills_does_not_say_when_it_began():
    def seen(now, since):
        return {"j": replace(job(now)["j"], since_ns=since * S)}

    tracked = follow((), [finding(10, 12)], seen(12, 0), 12 * S)
    tracked = follow(tracked, [finding(9, 13)], seen(13, 0), 13 * S)
    assert told(tracked)[0].finding.start_ns == 9 * S  # it saw what was before
    tracked = follow(tracked, [finding(7, 14)], seen(14, 6), 14 * S)
    assert told(tracked)[0].finding.start_ns == 9 * S
    tracked = follow(tracked, [finding(13, 16)], seen(16, 12), 16 * S)
    assert told(tracked)[0].finding.start_ns == 9 * S


def test_where_steps_turn_out_to_be_others_what_was_slow_is_not_known():
    (waiting,) = follow((), [finding(10, 12)], job(12), 12 * S)
    assert reset_baselines((waiting,), {"another"}) == (waiting,)
    assert reset_baselines((waiting,), {"j"}) == ()
    tracked = reset_baselines(opened(), {"j"})
    for now in (20, 30):  # steps are twice as long as parts of them seemed to be
        longer = {"j": replace(job(now)["j"], step_ns=2.0 * S, ends=np.arange(2, now + 1, 2, dtype=np.int64) * S)}
        tracked = follow(tracked, [], longer, now * S)
    (case,) = told(tracked)
    assert case.state == "closed"


def test_who_is_named_for_a_silence_is_who_windows_are_surest_of():
    unsure = finding(10, 13, kind="hang", severity=Severity.CRITICAL, confidence=0.85)
    surer = replace(unsure, ids=("10.0.0.7",), confidence=0.97, end_ns=14 * S)
    tracked = follow((), [unsure], job(13, talked=10, running=False), 13 * S)
    tracked = follow(tracked, [surer], job(14), 14 * S)
    tracked = follow(tracked, [replace(unsure, end_ns=15 * S)], job(15), 15 * S)
    (case,) = told(tracked)
    assert (case.finding.ids, case.finding.end_ns) == (("10.0.0.7",), 15 * S)


@pytest.mark.parametrize("start", [10, 20])
def test_a_second_claim_for_a_time_for_which_another_was_told_must_be_seen_in_more_steps(start):
    nic = finding(10, 13, kind="slow_link")
    tracked = follow(follow((), [nic], job(13), 13 * S), [replace(nic, end_ns=14 * S)], job(14), 14 * S)
    other = finding(start, start + 5, who="10.0.0.7")
    now = start + 6
    tracked = follow(tracked, [other], job(now), now * S)
    tracked = follow(tracked, [other], job(now), now * S + S // 2)
    assert len(told(tracked)) == (1 if start == 10 else 2)
    tracked = follow(tracked, [replace(other, end_ns=(now + 1) * S)], job(now + 1), (now + 1) * S)
    assert len(told(tracked)) == 2
