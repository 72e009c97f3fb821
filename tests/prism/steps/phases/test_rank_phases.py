import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.columns.record import Flows
from prism.loops.arrays.intervals import _lengths
from prism.model import PHASES, Job, Layout, Parallelism, Spans, Stream, Timeline, shares
from prism.steps.phases.rank_phases import phases
from prism.synth.scenario.presets import PRESETS
from prism.synth.simulation import simulate
from prism.topology import parse
from tests.prism.traffic import T0, placed, seen, shifted, training

EMPTY = np.zeros(0, np.int64)
NO_SPANS = Spans(EMPTY, EMPTY, EMPTY.astype(np.int32), EMPTY.astype(np.int8), EMPTY.astype(np.int32))


def told(flows, topology=None):
    view = seen(flows, topology)
    return view, phases(view.flows, view.job, view.parallelism, view.timeline)


def spent(found):
    return found.by_rank(int(found.rank.max()) + 1).sum(axis=0)


def check_cover(found, steps):
    """Intervals of each rank are in order, cover its steps, and nothing else."""
    for rank, own in enumerate(steps):
        mine = found.rank == rank
        start, end, step = found.start_ns[mine], found.end_ns[mine], found.step[mine]
        assert (start < end).all()
        full = np.flatnonzero(own[:, 1] > own[:, 0])
        assert np.unique(step).tolist() == full.tolist()
        for k in full:
            at = step == k
            assert [start[at][0], end[at][-1]] == own[k].tolist()
            assert (start[at][1:] == end[at][:-1]).all()


@pytest.mark.parametrize(("dp", "pp"), [(8, 1), (4, 2), (2, 4)])
def test_phases_cover_the_steps(dp, pp):
    view, found = told(training(dp=dp, pp=pp).flows(), placed(8))
    assert len(view.timeline.steps[0]) == 14
    check_cover(found, view.timeline.steps)
    assert sum(shares(spent(found)).values()) == pytest.approx(1)
    assert "dp" in shares(spent(found))


ADDRESSES = tuple(f"10.0.{r}.1" for r in range(4))
RECORD = st.tuples(
    st.integers(0, 3), st.integers(1, 3), st.integers(0, 900), st.integers(0, 120), st.sampled_from([0, 64, 5000, 90_000])
)
STEPS = st.lists(st.integers(0, 1000), max_size=5).map(lambda ends: np.array(sorted(ends), np.int64))


@given(
    st.lists(RECORD, max_size=40),
    st.lists(STEPS, min_size=4, max_size=4),
    st.lists(st.sampled_from(["dp", "tp", "ep", "cp", "pp"]), min_size=40, max_size=40),
    st.lists(st.integers(-1, 2), min_size=4, max_size=4),
)
def test_any_traffic_and_any_steps_are_covered(records, bounds, kinds, stages):
    src, over, start, length, octets = (
        np.array(column, np.int64) for column in zip(*(records or [(0, 1, 0, 0, 0)]), strict=True)
    )
    columns = {"start_ns": T0 + start, "end_ns": T0 + start + length, "src": src, "dst": (src + over) % 4, "octets": octets}
    flows = Flows.build(columns, endpoints=ADDRESSES)
    streams = tuple(
        Stream(kind, ADDRESSES, np.flatnonzero(np.array(kinds[: len(flows)]) == kind))
        for kind in sorted(set(kinds[: len(flows)]))
    )
    known = {address: stage for address, stage in zip(ADDRESSES, stages, strict=True) if stage >= 0}
    steps = tuple(T0 + np.stack([ends[:-1], ends[1:]], axis=1) if len(ends) else np.zeros((0, 2), np.int64) for ends in bounds)
    job = Job("j", ADDRESSES, (), T0, T0 + 1000)
    made = phases(flows, job, Parallelism(Layout(), (), (), known, streams), Timeline(steps, (), NO_SPANS))
    check_cover(made, steps)


def test_phases_move_with_time():
    flows = training(dp=4, pp=2).flows()
    _, found = told(flows)
    _, moved = told(shifted(flows, -T0))
    assert (moved.start_ns + T0 == found.start_ns).all()
    assert (moved.phase == found.phase).all()


def test_steps_examined_one_by_one_give_nearly_the_same():
    view, found = told(simulate(PRESETS["pipeline"], 0).flows)
    few = phases(view.flows, view.job, view.parallelism, view.timeline, max_records=len(view.flows) // 6)
    check_cover(few, view.timeline.steps)
    whole, part = (one.by_rank(8).sum(axis=0) for one in (found, few))
    assert np.abs(whole - part).sum() < 0.01 * whole.sum()


def test_without_steps_there_are_no_phases():
    view = seen(training(dp=4).flows())
    steps = tuple(np.zeros((0, 2), np.int64) for _ in range(4))
    assert len(phases(view.flows, view.job, view.parallelism, Timeline(steps, (), NO_SPANS))) == 0


def shares_of_truth(spec, seed=0):
    """For each label, the share of its time in which ranks really did each kind of work; and the share that it has."""
    made = simulate(spec, seed)
    view, found = told(made.flows, parse(json.dumps(made.topology), "topology.json"))
    rank = {one["ip"]: one["rank"] for one in made.truth["jobs"]["A"]["ranks"]}
    share = shares(spent(found))
    out = {label: Counter() for label in share}
    for i, address in enumerate(view.job.endpoints):
        for kind in ("load", "forward", "backward", "optimizer"):
            own = [(p.begin[at], p.end[at]) for p in made.worked["A"] if p.kind == kind for at in (p.ranks == rank[address],)]
            begin, end = (np.concatenate(side).round().astype(np.int64) + spec.start_ns for side in zip(*own, strict=True))
            order = np.argsort(begin)
            for label, times in out.items():
                mine = (found.rank == i) & (found.phase == PHASES.index(label))
                inside = [_lengths(t[mine], begin[order], end[order])[0] for t in (found.end_ns, found.start_ns)]
                times[kind] += int((inside[0] - inside[1]).sum())
    total = {label: (found.end_ns - found.start_ns)[found.phase == PHASES.index(label)].sum() for label in out}
    return {label: {kind: t / total[label] for kind, t in times.items()} for label, times in out.items()}, share


@pytest.mark.parametrize("preset", ["pipeline", "pipeline-rdma", "3d", "context"])
def test_labels_of_a_pipeline_are_true(preset):
    true, share = shares_of_truth(PRESETS[preset])
    assert true["forward"]["forward"] > 0.95
    assert true["backward"]["backward"] > 0.84
    assert sum(true["idle"].values()) < 0.07
    assert true["optimizer"]["load"] + true["optimizer"]["optimizer"] > 0.75
    assert sum(true["compute"].values()) > 0.95
    assert sum(true["dp"].values()) < 0.02
    assert share["idle"] > 0.1


def test_interleaved_stages_are_mostly_told():
    true, _ = shares_of_truth(PRESETS["interleaved"])
    assert true["forward"]["forward"] > 0.75
    assert true["backward"]["backward"] > 0.9
    assert sum(true["idle"].values()) < 0.3


@pytest.mark.parametrize("preset", ["ddp", "ddp-rdma", "fsdp"])
def test_without_a_pipeline_work_is_work_of_unknown_kind(preset):
    true, share = shares_of_truth(PRESETS[preset])
    assert set(share) == {"compute", "dp", "idle"}
    assert sum(true["compute"].values()) > 0.95
    assert share["idle"] < 0.02
