import numpy as np
import pytest

from prism.graph.what_if import DONE, JOINED, WORK, ends, graph_of, replay
from tests.prism.traffic import Wire, seen, training

VIEWS = {
    "reduction": lambda: seen(training(dp=6).flows()),
    "reduction over TCP": lambda: seen(training(dp=6, wire=Wire(tcp=True)).flows()),
    "pipeline": lambda: seen(training(dp=2, pp=3).flows()),
    "pipeline over TCP": lambda: seen(training(dp=2, pp=3, wire=Wire(tcp=True)).flows()),
}


@pytest.mark.parametrize("name", VIEWS)
def test_what_was_seen_is_reproduced(name):
    view = VIEWS[name]()
    graph = graph_of(view)
    again = ends(graph, replay(graph, graph.gap), len(view.ends)) + graph.time.min()
    assert again == pytest.approx(view.ends, abs=0.02 * view.period)


@pytest.mark.parametrize("name", VIEWS)
def test_points_follow_what_came_before(name):
    graph = graph_of(VIEWS[name]())
    assert all(p < i for i in range(len(graph.time)) for p in graph.before(i))
    assert all(p < i for i, p in enumerate(graph.outer))
    assert (graph.gap >= 0).all()


def test_a_collective_begins_when_its_last_member_has_joined():
    graph = graph_of(seen(training(dp=6, work=lambda _step, rank: 60.0 if rank == 2 else 20.0).flows()))
    joined = np.flatnonzero(graph.kind == JOINED)
    assert len(joined) >= 14
    for i in joined[joined > 40]:
        assert graph.time[i] == max(graph.time[p] for p in graph.before(i)) + 1
    assert set(graph.kind.tolist()) == {WORK, JOINED, DONE}


def test_nothing_is_faster_than_its_slowest_part():
    graph = graph_of(seen(training(dp=4).flows()))
    half = graph.gap.copy()
    half[(graph.kind == WORK) & (graph.rank == 0)] /= 2
    one, whole = replay(graph, half), replay(graph, graph.gap)
    assert (one <= whole + 1).all()
    assert one[-1] == pytest.approx(whole[-1], rel=0.02)  # the others still work as long
    assert replay(graph, graph.gap / 2)[-1] < 0.6 * whole[-1]
