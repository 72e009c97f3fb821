import numpy as np

from prism.model import Finding, Severity
from prism.tracking.substeps import (
    checked_period,
    completed,
    may_be_pausing,
    may_be_substeps,
    pause_period,
    reach,
    steps_differ,
    supported,
)

S = 1_000_000_000


def parts(steps, *, of=8, rest_s=4):
    """Ends of what is taken for steps of a second; the first of each `of` of them comes after a rest."""
    took = [rest_s + 1 if k % of == 0 else 1 for k in range(1, steps + 1)]
    return np.cumsum(took).astype(np.int64) * S


def test_long_rests_come_back():
    newest, apart = pause_period(parts(30))
    assert (newest, apart) == (36 * S, 12 * S)
    assert pause_period(parts(30, rest_s=0)) == (0, 0.0)  # even steps
    assert pause_period(parts(15)) == (0, 0.0)  # one rest came, none came back
    assert pause_period(parts(2)) == (0, 0.0)


def test_a_window_reaches_back_so_far_that_four_of_them_come_back_whole_until_one_did():
    ends = parts(30)
    now = int(ends[-1])
    assert reach(ends, now, 0.0, 120 * S, 120 * S) == 36 * S - 5 * 12 * S
    assert reach(ends, now, 12.0 * S, 120 * S, 120 * S) == now  # checked_period before
    assert reach(ends, now, 0.0, 40 * S, 40 * S) == now  # they would last longer than is looked back
    assert reach(parts(30, rest_s=0), 30 * S, 0.0, 120 * S, 120 * S) == 30 * S


def test_rests_between_few_parts_are_requested_beyond_what_is_searched():
    ends = parts(30, rest_s=60)
    newest = int(ends[23])
    assert reach(ends, int(ends[-1]), 0.0, 120 * S, 600 * S) == newest - 5 * 68 * S
    assert reach(ends, int(ends[-1]), 0.0, 120 * S, 120 * S) == int(ends[-1])  # never so far
    seldom = parts(300, of=100, rest_s=60)
    assert reach(seldom, int(seldom[-1]), 0.0, 120 * S, 6000 * S) == int(seldom[-1])  # a checkpoint


def test_steps_may_be_parts_while_a_rest_may_come_back():
    assert may_be_substeps(parts(12))  # one came
    assert may_be_substeps(parts(30))  # three did
    assert not may_be_substeps(parts(40))  # four: what a window of them says is told from more than parts
    assert not may_be_substeps(parts(30, rest_s=0))
    once = np.cumsum([1, 1, 1, 1, 6, *[1] * 8]).astype(np.int64) * S
    assert may_be_substeps(once)
    assert not may_be_substeps(np.append(once, once[-1] + S))  # it came after nine seconds, and has stayed away for as long
    slower = np.cumsum([1, 1, 1, 1, 3, 3]).astype(np.int64) * S
    assert may_be_substeps(slower[:-1])
    assert not may_be_substeps(slower)  # no rest between steps_differ
    cut = np.cumsum([1, *[1] * 7, 5, *[1] * 7, 3, 2, 1, 1, 1]).astype(np.int64) * S
    assert may_be_substeps(cut)  # where a border was seen amid a rest it is one all the same


def test_a_job_that_rests_just_now_may_have_shown_parts_only():
    ends = np.arange(2, 7, dtype=np.int64) * S  # five ends, four seconds

    def known(talked_s, now_s):
        return not may_be_pausing(ends, int(talked_s * S), int(now_s * S))

    assert known(7.5, 7.5)
    assert not known(8.5, 8.5)  # a step that goes on and is long already: the first after a rest
    assert not known(6, 9)
    assert known(6, 10.5)  # silent for longer than all that was seen: it hangs
    assert not known(10.5, 10.5)
    assert known(6, 6)
    assert not may_be_pausing(ends[:0], 0, 9 * S)


def test_only_a_window_that_holds_them_has_asked():
    assert checked_period(parts(30), 24 * S, 0.0) == 0.0
    assert checked_period(parts(30), 46 * S, 0.0) == 0.0  # three whole ones and a half
    assert checked_period(parts(30), 58 * S, 0.0) == 12 * S
    assert checked_period(parts(30), 58 * S, 20.0 * S) == 20 * S


def test_steps_of_which_those_before_were_parts_are_others_and_those_of_a_slower_job_are_not():
    known = np.arange(1, 41, dtype=np.int64) * S
    assert steps_differ(known, known[7::8], 0.4)
    assert steps_differ(known[7::8], known, 0.4)
    slower = np.concatenate([known, 40 * S + np.arange(1, 30, dtype=np.int64) * 2 * S])
    assert not steps_differ(slower[:43], slower[30:], 0.4)
    assert not steps_differ(known[:0], known, 0.4)


def test_a_newest_step_that_is_shorter_than_any_before_is_not_over_until_the_job_was_heard_when_it_should_have_been():
    ends = np.cumsum([4, 4, 5, 4, 4]).astype(np.int64) * S
    part = np.append(ends, ends[-1] + 3 * S)
    assert completed(ends, 4.0 * S, int(ends[-1]), late=1.25).tolist() == ends.tolist()
    assert completed(part, 4.0 * S, int(part[-1]), late=1.25).tolist() == ends.tolist()
    assert completed(part, 4.0 * S, int(ends[-1]) + 5 * S, late=1.25).tolist() == part.tolist()
    assert completed(ends[:2], 4.0 * S, 0).tolist() == ends[:2].tolist()


def claim(since, until, *, kind="slow_rank", severity=Severity.WARNING):
    evidence = {"silent_ms": (until - since) / 1e6} if kind == "hang" else {}
    return Finding("x", kind, "j", severity, "endpoint", ("10.0.0.1",), since, until, 1.3, 9.0, "", evidence)


def left(findings, ends, *, known_ns=0):
    """What is supported of a job that was known from the first, if not told else."""
    return list(supported(findings, ends, known_ns))


def slow_at(ends, steps, factor):
    took = np.diff(ends, prepend=0)
    took[steps] = took[steps] * factor
    return np.cumsum(took)


def test_what_is_only_slow_where_work_rests_is_no_claim_while_steps_may_be_parts():
    ends = parts(20, of=4)
    rest = claim(int(ends[10]), int(ends[11]))
    assert left([rest], ends) == []
    assert left([claim(int(ends[9]), int(ends[12]))], ends) == []
    slow = slow_at(ends, slice(12, 15), 1.3)
    one = claim(int(slow[11]), int(slow[14]))
    assert left([one], slow) == [one]
    goes_on = claim(int(slow[11]), int(slow[-1]) + S)
    assert left([goes_on], slow[:15]) == [goes_on]
    assert left([one], slow_at(ends, slice(12, 15), 1.03)) == []


def test_a_rest_is_no_hang_while_steps_may_be_parts():
    ends = parts(20, of=4)

    def told(ends, since, until):
        return len(left([claim(since, until, kind="hang")], ends))

    rest = int(ends[10]) + S // 10, int(ends[11]) - S
    assert told(ends, *rest) == 0
    assert told(slow_at(ends, 11, 1.5), rest[0], rest[1] + 2 * S) == 1  # longer than steps_differ
    assert told(slow_at(ends, 13, 4), int(ends[12]) + S // 10, int(ends[12]) + 3 * S) == 1  # where nobody rests
    before = ends[:11]
    assert told(before, rest[0], int(ends[10]) + 5 * S) == 0  # it goes on
    assert told(before, rest[0], int(ends[10]) + 6 * S) == 1
    assert told(ends[:7], rest[0], rest[1]) == 1  # one rest is no group


def test_a_hang_lasts_longer_than_what_seemed_to_be_one_before_the_job_was_known():
    ends = parts(7, of=4)  # one rest is no group

    def hang(since_s, until_s):
        return claim(int(since_s * S), int(until_s * S), kind="hang")

    rest, again, hung = hang(3.1, 7.1), hang(11.1, 14.9), hang(11.1, 15.4)
    assert left([rest, again], ends) == [rest, again]
    assert left([rest, again], ends, known_ns=8 * S) == [rest]  # which was completed before, so nobody is told
    assert left([rest, hung], ends, known_ns=8 * S) == [rest, hung]
    assert left([again], ends, known_ns=8 * S) == [again]
    slow = claim(int(ends[5]), int(ends[6]))
    assert left([slow, again, rest], ends, known_ns=8 * S) == [slow, rest]


def test_other_findings_stand():
    ends = parts(20, of=4)
    note, gone = claim(int(ends[10]), int(ends[11]), severity=Severity.INFO), claim(int(ends[10]), int(ends[11]), kind="crash")
    assert left([note, gone], ends) == [note, gone]
    rest = claim(int(ends[10]), int(ends[11]))
    for known in (parts(29, of=4), parts(20, rest_s=0), parts(7, of=4), ends[:2], ends[:0]):
        assert left([rest], known) == [rest]  # groups that a window tells from steps; no groups
    uneven = np.delete(ends, 13)
    assert left([rest], uneven) == [rest]
