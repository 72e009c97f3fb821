import json

import numpy as np
import pytest

from prism import topology
from prism.layout.labels._tied_embeddings import without_tied
from prism.loops.arrays.edges import Edge, Pair, edge_from
from prism.loops.communicators.pair_lockstep import Collective
from prism.synth.scenario.specification import Cluster, Job, Spec
from prism.synth.simulation import simulate
from tests.prism.traffic import inferred


@pytest.mark.parametrize("algorithm", ["ring", "tree"])
@pytest.mark.parametrize("tied", [20_000_000, 100_000_000])
@pytest.mark.parametrize(("pp", "dp"), [(2, 2), (2, 4), (4, 1), (4, 2), (4, 4)])
def test_what_the_first_and_the_last_stage_reduce_between_them_joins_no_groups(pp, dp, tied, algorithm):
    job = Job(pp=pp, dp=dp, micro=4, steps=12, tied_octets=tied, algorithm=algorithm)
    done = simulate(Spec("tied", Cluster(hosts=pp * dp), (job,)))
    found = inferred(done.flows, topology.parse(json.dumps(done.topology), "topology"))
    layout = found.layout
    assert (layout.pp, layout.dp, layout.tp, layout.cp, layout.ep) == (pp, dp, 1, 1, 1)
    assert sorted(len(g.members) for g in found.groups if g.kind == "dp") == [dp] * pp * (dp > 1)


def lanes(*pairs: tuple[int, int]) -> dict[Pair, Edge]:
    """An edge for each pair, each a record of its own."""
    one = np.ones(1, np.int64)
    return {pair: edge_from(pair, np.array([i]), one * i, one * i + 1, one * 100) for i, pair in enumerate(pairs)}


def collective(edges: dict[Pair, Edge]) -> Collective:
    rows = np.sort(np.concatenate([edge.rows for edge in edges.values()]))
    return Collective(frozenset(edges), rows, (np.zeros(1, np.int64), np.full(1, 100)))


def both(*pairs: tuple[int, int]) -> list[tuple[int, int]]:
    return [*pairs, *((b, a) for a, b in pairs)]


def test_two_groups_joined_member_by_member_are_stages() -> None:
    edges = lanes(*both((0, 1), (2, 3), (0, 2), (1, 3)))
    hands = {pair: edges[pair] for pair in both((0, 2), (1, 3))}
    kept, tied = without_tied([collective(edges)], hands, edges)
    assert sorted(sorted(one.members) for one in kept) == [[0, 1], [2, 3]]
    assert sorted(sorted(one.members) for one in tied) == [[0, 2], [1, 3]]
    assert sorted(np.concatenate([one.rows for one in (*kept, *tied)]).tolist()) == list(range(8))


@pytest.mark.parametrize(
    ("joined", "handed"),
    [
        ([(a, (a + 1) % 8) for a in range(8)], [(0, 1), (2, 3), (4, 5), (6, 7)]),  # a ring through those who exchange
        (both((0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6), (3, 7)), [(0, 1), (2, 5), (3, 7)]),  # a tree
        (both((0, 1), (2, 3), (0, 2)), [(0, 2)]),  # not all have a partner
    ],
)
def test_what_else_goes_through_those_who_hand_over_stays_whole(joined, handed) -> None:
    edges = lanes(*joined)
    one = collective(edges)
    assert without_tied([one], lanes(*both(*handed)), edges) == ([one], [])


def test_the_ends_of_a_longer_pipeline_do_not_hand_on() -> None:
    edges = lanes(*both((0, 1), (6, 7), (0, 6), (1, 7)))
    one = collective(edges)
    kept, tied = without_tied([one], [(0, 6), (1, 7)], edges)
    assert sorted(sorted(part.members) for part in kept) == [[0, 1], [6, 7]]
    assert sorted(sorted(part.members) for part in tied) == [[0, 6], [1, 7]]
    assert without_tied([one], [(0, 7), (1, 6)], edges) == ([one], [])
    two = collective({pair: edges[pair] for pair in both((0, 6))})
    assert without_tied([two], [(0, 6)], edges) == ([two], [])
    assert without_tied([two], [(0, 6)], edges, alone=True) == ([], [two])
