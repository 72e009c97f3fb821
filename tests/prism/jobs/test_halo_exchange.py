import pytest

from prism.jobs._halo_exchange import only_exchanges
from prism.jobs.cluster_periods import ClusterRhythm
from prism.jobs.clusters import clusters_of, pair_volumes, sampled_edges
from tests.prism.traffic import MS, T0, Wire, placed


def judged(wire, ranks):
    flows, topology = wire.flows(), placed(ranks)
    _, steady = pair_volumes(flows, topology)
    clusters = clusters_of(steady, len(flows.endpoints))
    rhythms = [ClusterRhythm(flows, edges) for edges in sampled_edges(flows, steady, clusters)]
    return only_exchanges(flows, clusters, rhythms, steady)


def swaps(rounds, *, steps=20, ranks=16):
    """Messages between partners in rounds, one round after the other, in each step."""
    wire = Wire()
    for step in range(steps):
        for k, partner in enumerate(rounds):
            for rank in range(ranks):
                other = partner(rank)
                if other is not None:
                    wire.send(rank, other, 1_000_000, T0 + (step * 100 + 10 * k) * MS)
    return wire


def up(rank):
    return (rank + 1) % 16


def down(rank):
    return (rank - 1) % 16


def test_neighbours_that_swap_borders_only_exchange():
    wire = Wire()
    for step in range(20):
        for rank in range(16):
            for other in (up(rank), down(rank)):
                wire.send(rank, other, 1_000_000, T0 + step * 100 * MS)
    assert judged(wire, 16)


def solver(ranks, *, number=None):
    """Neighbours of a ring swap borders of four messages; all then sum a scalar by doubling, among `number` ranks."""
    wire = Wire()
    for step in range(20):
        late = wire.chance.permutation(ranks)
        for rank in range(ranks):
            for k in range(8):
                other = (rank + (-1) ** (k % 2)) % ranks
                wire.send(rank, other, 200_000, T0 + step * 100 * MS + int(late[rank]) * MS // 4 + k * MS // 4)
        for k in range((number or 1).bit_length() - 1):
            for rank in range(number):
                wire.send(rank, rank ^ (1 << k), 16, T0 + (step * 100 + 40 + k) * MS)
    return wire


@pytest.mark.parametrize(("ranks", "number"), [(16, None), (16, 16)])
def test_borders_in_several_messages_and_sums_of_scalars_are_no_reduction(ranks, number):
    assert judged(solver(ranks, number=number), ranks)


@pytest.mark.parametrize("early", [0, 4])
def test_a_tree_in_chunks_adds_up_also_if_leaves_are_early(early):
    wire = Wire()
    for step in range(20):
        for rank in range(1, 16):
            for k in range(4):
                ahead = early * (rank > 12) * (step % 2) + 2 * rank.bit_length()
                wire.send(rank, (rank - 1) // 2, 1_000_000, T0 + (step * 100 + 10 - ahead + k) * MS)
                wire.send((rank - 1) // 2, rank, 1_000_000, T0 + (step * 100 + 10 + 2 * rank.bit_length() + k) * MS)
    assert not judged(wire, 16)


def test_transposed_rows_and_columns_only_exchange():
    rows = [lambda r, k=k: r // 4 * 4 + (r + k) % 4 for k in (1, 2, 3)]
    columns = [lambda r, k=k: (r + 4 * k) % 16 for k in (1, 2, 3)]
    assert judged(swaps(rows + columns), 16)


@pytest.mark.parametrize("rounds", [[lambda r, k=k: r ^ (1 << k) for k in range(4)]])
def test_doubling_adds_up(rounds):
    assert not judged(swaps(rounds), 16)


def test_a_ring_adds_up():
    assert not judged(swaps([up] * 30), 16)


def test_few_members_give_no_result():
    assert not judged(swaps([lambda r: r ^ 1, lambda r: r ^ 2], ranks=4), 4)


def test_long_records_may_hold_the_bursts_of_a_reduction():
    wire = Wire()
    for step in range(20):
        for rank in range(8):
            for other in set(range(8)) - {rank}:
                wire.send(rank, other, 1_000_000, T0 + step * 100 * MS, gbits=0.2)
    assert not judged(wire, 8)


def test_borders_of_several_iterations_in_a_step_only_exchange():
    wire = Wire()
    for step in range(20):
        for part in range(2):
            late = wire.chance.permutation(16)
            for rank in range(16):
                for other in (up(rank), down(rank)):
                    size = 1_000_000 + 500_000 * part
                    wire.send(rank, other, size, T0 + (step * 100 + 50 * part) * MS + int(late[rank]) * MS // 4)
    assert judged(wire, 16)


def test_a_ring_in_both_directions_adds_up_all_end_together():
    wire = Wire()
    for step in range(20):
        late = wire.chance.integers(0, 20, 8)
        for rank in range(8):
            for other in ((rank + 1) % 8, (rank - 1) % 8):
                for k in range(14):
                    begin = 20 + k if k else int(late[rank])
                    wire.send(rank, other, 1_000_000, T0 + (step * 100 + begin) * MS)
    assert not judged(wire, 8)


@pytest.mark.parametrize(("messages", "exchange"), [(1, True), (2, False)])
def test_two_ranks_sum_by_two_messages(messages, exchange):
    wire = Wire()
    for step in range(20):
        for rank in range(8):
            for k in range(messages):
                wire.send(rank, rank ^ 1, 1_000_000, T0 + (step * 100 + k) * MS)
    assert judged(wire, 8) == exchange
