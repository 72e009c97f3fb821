from dataclasses import replace

import numpy as np
import pytest

from collectors.record import Flows
from prism.deaf import Deaf
from prism.following import loud
from prism.model import Finding, Job, Severity
from prism.playing import ticks
from prism.synth import simulate as simulation
from prism.synth.spec import Cluster, Fault, Spec
from prism.synth.spec import Job as Run
from prism.tracking import Followed
from prism.watch import Watch

S = 1_000_000_000
LOST = Deaf(100 * S, 104 * S)


def flows(*ends):
    return Flows.build({"start_ns": [end * S - 1 for end in ends], "end_ns": [end * S for end in ends]}, endpoints=("a",))


def finding(start, end, kind="slow_rank"):
    return Finding(kind, kind, "j", Severity.WARNING, "endpoint", ("a",), start * S, end * S, 1.5, 9.0, "m", {}, 0.9, 1.0)


def test_it_is_over_when_the_first_record_came_that_is_newer():
    since = Deaf(100 * S)
    assert since.still
    assert since.over(flows(99)).still
    assert since.over(flows(99, 105, 103)) == Deaf(100 * S, 103 * S)
    assert LOST.over(flows(101, 120)) == LOST
    assert not Deaf().still
    assert Deaf().over(flows(5)) == Deaf()


def test_windows_begin_after_it_where_it_was_longer_than_they_are():
    one = Followed(Job("j", ("a", "b"), (), 0, 0), 0, step_ns=1.0 * S)
    assert LOST.since(one) == 0
    assert LOST.since(replace(one, step_ns=0.01 * S)) == 104 * S
    assert Deaf().since(one) == 0


def test_what_shows_in_it_is_nobodys_fault():
    def beyond(start, end, kind="slow_rank", deaf=LOST):
        return [(f.start_ns / S, f.end_ns / S) for f in deaf.beyond([finding(start, end, kind)], 1.0 * S)]

    assert beyond(50, 98) == [(50, 98)]
    assert beyond(106, 109) == [(106, 109)]
    assert beyond(106, 109, "hang") == [(106, 109)]
    assert beyond(99, 105) == beyond(99, 106) == []
    assert beyond(99, 108) == [(104, 108)]  # who was slow after it
    assert beyond(90, 105) == [(90, 105)]  # before
    assert beyond(90, 110, "hang") == beyond(99, 108, "crash") == []
    assert beyond(99, 105, deaf=Deaf()) == [(99, 105)]


def test_when_nobody_saw_it_begin_it_is_said_how_much_sooner_that_may_have_been():
    (after,) = LOST.beyond([finding(99, 108)], 1.0 * S)
    assert (after.start_ns, after.evidence["sooner_s"]) == (104 * S, 5.0)
    assert "up to 5.0 s sooner" in after.message
    for known in (finding(90, 105), finding(105, 109)):
        assert list(LOST.beyond([known], 1.0 * S)) == [known]


RUN = Run("A", dp=8, transport="tcp", steps=32, forward_ms=1300, backward_ms=2600, gradient_octets=40_000_000, jitter=0.02)
SLOW = Fault("compute_slow", "A", ranks=(3,), first=24, factor=1.8)


@pytest.mark.parametrize(("faults", "told"), [((), set()), ((SLOW,), {("10.10.3.1",)})])
def test_who_is_slow_soon_after_it_is_told_beside_what_was_usual_before(faults, told):
    """Of eight steps after it alone none is seen but as one of several that are alike."""
    run = replace(RUN, spike_chance=0.0)
    made = simulation.simulate(Spec("deaf", Cluster(hosts=8, nic_gbit=4.0), (run,), faults), seed=1)
    ends = np.array([end for _, _, end in made.truth["jobs"]["A"]["steps"]["0"]])
    gone, back = int(ends[20]) + 2 * S, int(ends[21]) + S
    watch, known, claims, over = Watch(), [], set(), False
    for tick in ticks(made.flows, made.transits):
        if gone <= tick.clock_ns < back:
            continue
        if tick.clock_ns >= back and not over:
            before, watch, over = watch, Watch(), True
            past = made.flows.take(made.flows.end_ns < gone)
            watch.resume(before.jobs, before.trails, before.until_ns, past, deaf=True)
        watch.add(tick.flows, tick.clock_ns)
        watch.take()
        if watch.due(tick.clock_ns):
            known += watch.look(watch.watermark(tick.clock_ns)).cases
    claims = {case.finding.ids for case in known if loud(case.finding)}
    assert over
    assert claims == told
