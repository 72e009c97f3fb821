from dataclasses import replace

import numpy as np

from collectors.columns.record import Flows
from prism.model import Job, JobDiagnosis, Layout, Parallelism
from prism.storage.live_state import job_from, job_json
from prism.tracking.job_tracking import Followed, after, around, locate_job, past, placed, unknown, with_recognized
from prism.tracking.timeline_stitching import job_ends
from tests.conftest import make_timeline

S = 1_000_000_000


def job(*numbers, name="a"):
    return Job(name, tuple(f"10.0.0.{n}" for n in numbers), (), 0, 0)


def found(of, steps, *, ms=1000, dp=8, sure=0.9):
    return JobDiagnosis(of, Parallelism(Layout(dp=dp, confidence=sure), (), ()), make_timeline(len(of.endpoints), steps, ms, 0))


def trusted(of):
    one = Followed(of, 0)
    for now in range(5, 9):
        one = after(one, found(of, now), now * S, kept=100)
    return one


def test_a_job_is_believed_when_windows_agree_on_its_step():
    one = Followed(job(1, 2, 3, 4), 0)
    seen = []
    for now in range(1, 9):
        one = after(one, found(one.job, max(now, 5)), now * S, kept=100)
        seen.append(one.trusted)
    assert seen == [False] * 3 + [True] * 5
    assert one.step_ns == S


def test_a_job_is_not_believed_while_what_windows_agree_on_may_be_parts_between_which_it_rests():
    one = Followed(job(1, 2, 3, 4), 3 * S)
    for now in range(4, 14):  # after five steps it is silent for three seconds, and then the next one goes on
        told = found(replace(one.job, end_ns=(now if now > 7 else 5) * S), 5)
        one = after(one, told, now * S, kept=100)
        assert not one.trusted
    assert after(one, found(one.job, 13), 13 * S, kept=100).trusted


def test_a_window_that_takes_parts_for_steps_is_doubted_and_changes_nothing():
    one = trusted(job(1, 2, 3, 4))
    odd = after(one, found(one.job, 30, ms=100), 10 * S, kept=100)
    assert odd.doubtful
    assert odd.found.timeline is one.found.timeline
    for now in range(11, 14):
        odd = after(odd, found(one.job, 30, ms=100), now * S, kept=100)
    assert not odd.doubtful  # it is another step now
    assert odd.step_ns == S / 10


def test_the_window_of_a_job_that_may_be_known_by_parts_of_its_steps_reaches_back_further_until_it_holds_its_rests():
    one = trusted(job(1, 2, 3, 4))
    took = np.array([5 if k % 8 == 0 else 1 for k in range(60)]) * S
    ends = np.cumsum(took)
    own = np.stack([ends - took, ends], axis=1)
    parts = replace(found(one.job, 9), timeline=replace(one.found.timeline, steps=(own,) * 4))
    now = int(ends[-1])
    one = replace(one, found=parts)
    assert one.since(now, 30 * S, 30 * S) == int(ends[-25])
    assert one.since(now, 120 * S, 120 * S) == int(ends[56]) - 5 * 12 * S
    began = replace(parts.job, start_ns=now - 60 * S)
    told = after(one, replace(parts, job=began), now, kept=100)  # a window that held five of them says the same
    assert told.since(now, 120 * S, 120 * S) == int(job_ends(told.found.timeline)[-25])


def test_steps_of_which_those_known_were_parts_have_no_past():
    one = trusted(job(1, 2, 3, 4))
    one = replace(one, found=found(one.job, 80, ms=100))
    for now in range(10, 14):
        one = after(one, found(one.job, 8), now * S, kept=100)
    assert one.anew_ns == 0  # steps are a second long, as they were
    one = replace(one, found=found(one.job, 80, ms=100), step_ns=S / 10)
    for now in range(14, 17):
        one = after(one, found(one.job, 8), now * S, kept=100)
    assert not one.doubtful
    assert one.anew_ns == 14 * S
    assert len(job_ends(one.found.timeline)) == 8


def test_a_layout_of_one_window_is_doubted():
    one = trusted(job(1, 2, 3, 4))
    assert after(one, found(one.job, 9, dp=2), 10 * S, kept=100).doubtful


def test_a_window_that_is_not_sure_of_another_layout_says_nothing():
    one = trusted(job(1, 2, 3, 4))
    for now in range(10, 13):
        odd = after(one, found(one.job, now, dp=2, sure=0.3), now * S, kept=100)
        assert odd.unclear
        assert (odd.found, odd.step_ns, odd.doubted_ns) == (one.found, one.step_ns, 0)
        one = after(odd, found(one.job, now), now * S, kept=100)
        assert not one.unclear
    assert not after(one, found(one.job, 13, dp=2), 13 * S, kept=100).unclear  # that one is doubted
    for now in range(14, 30):
        one = after(one, found(one.job, now, dp=2, sure=0.3), now * S, kept=100)
    assert not one.doubtful  # so it is


def test_members_change_when_several_looks_agree():
    followed = (trusted(job(1, 2, 3, 4)),)
    for _ in range(2):
        followed = with_recognized(followed, [job(1, 2, 3, 4, 5, name="b")], 10 * S)
        assert len(followed[0].job.endpoints) == 4
    (one,) = with_recognized(followed, [job(1, 2, 3, 4, 5, name="b")], 10 * S)
    assert (one.id, len(one.job.endpoints), len(one.found.timeline.steps)) == ("a", 5, 5)


def test_what_turns_out_to_be_a_part_of_a_job_is_forgotten():
    followed = with_recognized((), [job(1, 2), job(3, 4, name="b")], 0)
    (one,) = with_recognized(followed, [job(1, 2, 3, 4, name="c")], S)
    assert one.id == "c"


def test_a_timeline_follows_its_ranks():
    timeline = make_timeline(3, 4, 1000, 0)
    moved = placed(timeline, job(1, 2, 3), job(2, 3, 9))
    assert [len(steps) for steps in moved.steps] == [4, 4, 0]
    assert set(moved.spans.rank) == {0, 1}
    assert len(moved.phases) == len(timeline.phases) * 2 // 3


def test_records_around_a_job():
    flows = Flows.build(
        {
            "start_ns": [1, 2, 3],
            "end_ns": [5, 6, 7],
            "src": [0, 0, 2],
            "dst": [1, 2, 3],
            "octets": [4000, 4000, 4000],
            "packets": [1, 1, 1],
            "messages": [1, 1, 1],
        },
        endpoints=("10.0.0.1", "10.0.0.2", "10.9.9.9", "10.9.9.8"),
    )
    assert around(flows, job(1, 2)).tolist() == [0, 1]
    seen = locate_job(job(1, 2), flows)
    assert (seen.start_ns, seen.end_ns) == (1, 5)
    assert locate_job(job(7, 8), flows) is None
    assert np.isclose(unknown(flows, [trusted(job(1, 2))]), 2 / 3)


def test_after_a_restart_a_layout_is_kept_until_another_one_has_as_much_behind_it():
    full = trusted(job(1, 2, 3, 4))
    for now in range(9, 30):
        full = after(full, found(full.job, now), now * S, kept=100)
    one = job_from(job_json(full))
    for now in range(30, 45):  # windows that have begun anew
        one = after(one, found(one.job, now - 26, dp=2), now * S, kept=100)
        assert one.doubtful
        assert one.found is None
    one = after(one, found(one.job, 19), 45 * S, kept=100)
    assert one.found.parallelism.layout.dp == 8
    for now in range(46, 56):  # it is another one now
        one = after(one, found(one.job, 24, dp=2), now * S, kept=100)
    assert one.found.parallelism.layout.dp == 2
    assert not one.doubtful


def test_the_window_of_a_job_grows_until_it_shows_steps_or_as_long_as_it_is_doubted():
    one = Followed(job(1, 2, 3, 4), 10 * S)
    assert one.since(10 * S, 60 * S, 600 * S) == -50 * S
    assert one.since(400 * S, 60 * S, 600 * S) == -50 * S
    assert one.since(4000 * S, 60 * S, 600 * S) == 3400 * S
    assert replace(one, lately=(float(S),)).since(400 * S, 60 * S, 600 * S) == 340 * S  # it shows enough of them
    assert replace(one, lately=(30.0 * S,)).since(400 * S, 60 * S, 600 * S) == -50 * S
    sure = trusted(job(1, 2, 3, 4))
    usually = 9 * S - sure.since(9 * S, 60 * S, 600 * S)
    odd = sure
    for now, ms in ((20, 100), (21, 10_000), (22, 100)):
        odd = after(odd, found(sure.job, 30, ms=ms), now * S, kept=100)
    assert odd.doubted_ns == 20 * S
    assert odd.since(90 * S, 60 * S, 600 * S) < 20 * S
    for now in (91, 92, 93):
        assert odd.doubted_ns == 20 * S
        odd = after(odd, found(sure.job, now), now * S, kept=100)
    assert odd.doubted_ns == 0
    assert 94 * S - odd.since(94 * S, 60 * S, 600 * S) > usually


def test_the_records_with_which_windows_go_on_reach_back_as_far_as_theirs():
    quick = job_from(job_json(trusted(job(1, 2, name="quick"))))
    long, longer = (
        replace(quick, job=job(3, 4, name="long"), step_ns=30.0 * S),
        replace(quick, job=job(5, 6, name="longer"), step_ns=100.0 * S),
    )
    followed = (quick, long, longer, replace(long, state="ended"), Followed(job(7, 8), 0))
    assert list(past(followed, 5000 * S, 120 * S, 1800 * S)) == [
        (4880 * S, 5000 * S, ()),
        (4280 * S, 4880 * S, long.job.endpoints),
        (3200 * S, 4880 * S, longer.job.endpoints),
    ]


def test_a_window_that_has_grown_long_waits_until_there_is_more_to_see():
    one = replace(Followed(job(1, 2, 3, 4), 0), looked_ns=379 * S)
    assert one.can_wait(380 * S, 60 * S, 600 * S)  # it is 440 s long
    assert not one.can_wait(392 * S, 60 * S, 600 * S)
    assert not replace(one, met_ns=379 * S).can_wait(379 * S, 60 * S, 600 * S)
    assert not replace(trusted(one.job), looked_ns=379 * S).can_wait(380 * S, 60 * S, 600 * S)


def test_layouts_told_of_parts_of_steps_have_no_say_when_steps_are_known():
    one = trusted(job(1, 2, 3, 4))
    for now in range(10, 20):
        one = after(one, found(one.job, 60), now * S, kept=100)
    assert one.told_by == 24
    for now in range(80, 83):
        one = after(one, found(one.job, 9, ms=9000, dp=4), now * S, kept=100)
    assert not one.doubtful
    assert one.layouts[-1][0] == one.layouts[0][0]
