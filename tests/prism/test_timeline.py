import numpy as np
import pytest

from prism.model import PHASES, Layout, Parallelism
from prism.timeline import _together, reconstruct
from tests.prism.traffic import MS, T0, Wire, placed, seen, shifted, training

LAYOUTS = [(8, 1), (4, 2), (2, 4)]


def reduced(wire, steps, dp, ranks):
    """When each rank last took part in a reduction of each step, found from the gaps of its own: int64[ranks, steps]."""
    ends = []
    for rank in range(ranks):
        own = [r for r in wire.rows if rank in (r["src"], r["dst"]) and r["src"] // dp == r["dst"] // dp and r["octets"] > 48]
        own.sort(key=lambda r: r["start_ns"])
        per_step = len(own) // steps
        ends.append([max(r["end_ns"] for r in own[k * per_step : (k + 1) * per_step]) for k in range(steps)])
    return np.array(ends)


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize(("dp", "pp"), LAYOUTS)
def test_a_rank_s_step_ends_with_its_last_reduction(dp, pp, tcp):
    wire = training(dp=dp, pp=pp, wire=Wire(tcp=tcp))
    view = seen(wire.flows(), placed(8))
    assert [len(s) for s in view.timeline.steps] == [14] * 8
    assert np.stack([s[:, 1] for s in view.timeline.steps]).tolist() == reduced(wire, 14, dp, 8).tolist()
    for s in view.timeline.steps:
        assert (s[1:, 0] == s[:-1, 1]).all()
        assert (s[:, 0] < s[:, 1]).all()


def test_a_step_that_lasts_and_one_that_hangs_are_one_step_each():
    wire = training(
        dp=4,
        pp=2,
        work=lambda step, _rank: 60.0 if step == 4 else 20.0,
        pause=lambda step, rank: 3000.0 * ((step, rank) == (8, 5)),
    )
    view = seen(wire.flows(), placed(8))
    assert {len(s) for s in view.timeline.steps} == {14}
    assert np.argsort(view.durations[1:])[-2:].tolist() == [3, 7]


def test_a_capture_that_begins_and_ends_within_a_step():
    flows = training(dp=4, pp=2, steps=20).flows()
    ends = seen(flows).ends
    part = flows.take((flows.start_ns > ends[2] + 100 * MS) & (flows.end_ns < ends[17] + 100 * MS))
    assert seen(part).ends.tolist() == ends[3:18].tolist()


def test_spans_are_the_records_of_both_ends():
    view = seen(training(dp=4, pp=2).flows())
    spans, flows = view.timeline.spans, view.flows
    assert len(spans) == 2 * len(flows)
    assert {PHASES[p] for p in spans.phase} == {"dp", "pp"}
    assert ((spans.rank >= 0) & (spans.peer >= 0) & (spans.rank != spans.peer)).all()
    mine = spans.rank == 3
    assert sorted(spans.start_ns[mine].tolist()) == sorted(flows.start_ns[(flows.src == 3) | (flows.dst == 3)].tolist())
    assert (spans.end_ns >= spans.start_ns).all()
    assert spans.octets[mine & (spans.octets > 0)].sum() == flows.octets[flows.src == 3].sum()
    assert -spans.octets[mine & (spans.octets < 0)].sum() == flows.octets[flows.dst == 3].sum()


def test_steps_move_with_time():
    flows = training(dp=4, pp=2).flows()
    assert (seen(shifted(flows, -T0)).ends + T0 == seen(flows).ends).all()


def test_without_streams_there_are_no_steps():
    view = seen(training(dp=4).flows())
    timeline = reconstruct(view.flows, view.job, Parallelism(Layout(), (), ()))
    assert [s.shape for s in timeline.steps] == [(0, 2)] * 4
    assert len(timeline.spans) == 0
    assert timeline.events == ()


def test_what_is_handed_on_late_comes_before_the_word_that_ends_the_step():
    """One rank hears the same words as the others, though it handed something on between its reduction and those."""
    ends = np.arange(1, 7, dtype=np.int64)[:, None] * 1000 * MS + np.array([0, 1, 2, 3]) * MS // 10
    begins = np.vstack([np.zeros((1, 4), np.int64), ends[:-1]])
    steps = [np.stack([begins[:, i], ends[:, i]], axis=1) for i in range(4)]
    heard = [own[:, 1].copy() for own in steps]
    steps[2][3, 1] -= 300 * MS
    steps[2][4, 0] -= 300 * MS
    told = _together(steps, heard, 1000.0 * MS)
    assert np.stack([own[:, 1] for own in told], axis=1).tolist() == ends.tolist()
    assert (told[2][1:, 0] == told[2][:-1, 1]).all()
    unheard = [None, None, heard[2], heard[3]]
    assert [own.tolist() for own in _together(steps, unheard, 1000.0 * MS)] == [own.tolist() for own in steps]
