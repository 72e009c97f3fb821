import pytest

from prism.jobs import recognize
from prism.layout.answer.inference import infer_layout
from prism.layout.answer.reductions import _hears_first, _rounds
from tests.prism.evidence import made
from tests.prism.traffic import MS, T0, Wire, placed


def training(rounds, *, ranks=16, steps=20, octets=4_000_000, period=100):
    """Probability of training with messages to partners in rounds, one round after the other, in each step of `period` ms."""
    wire = Wire()
    for step in range(steps):
        for k, partner in enumerate(rounds):
            for rank in range(ranks):
                if 0 <= partner(rank) < ranks:
                    wire.send(rank, partner(rank), octets, T0 + (step * period + k) * MS)
    flows, topology = wire.flows(), placed(ranks)
    (job,) = recognize(flows, topology)
    return infer_layout(flows, job, topology).training


def up(rank):
    return (rank + 1) % 16


SWAPS = [lambda r, k=k: (r + k) % 16 for k in range(1, 16)]
ROWS = [lambda r, k=k: r // 4 * 4 + (r + k) % 4 for k in (1, 2, 3)]
COLUMNS = [lambda r, k=k: (r + 4 * k) % 16 for k in (1, 2, 3)]

BORDERS = [lambda r, k=k: r + k if r % 4 + k in (0, 1, 2, 3) or k % 4 == 0 else -1 for k in (1, -1, 4, -4)]


@pytest.mark.parametrize("rounds", [SWAPS, ROWS + COLUMNS, [up] * 15, BORDERS])
def test_exchanges_do_not_train(rounds):
    """Transpositions, a tour of a ring, and borders of neighbours in a plane."""
    assert training(rounds) < 0.5


@pytest.mark.parametrize("rounds", [SWAPS * 2, [up] * 30, [lambda r, k=k: r ^ (1 << k) for k in range(4)]])
def test_sums_may_train(rounds):
    assert training(rounds) > 0.5


def test_a_doubling_of_ranks_that_merge_with_a_neighbour_may_train():
    """Of twelve ranks eight remain; each merged rank sends its gradients first, and receives the sum last."""
    kept = (1, 3, 5, 7, 8, 9, 10, 11)
    doubled = [lambda r, k=k: kept[kept.index(r) ^ (1 << k)] if r in kept else -1 for k in range(3)]
    merged = [lambda r: r + 1 if r in range(0, 8, 2) else -1, *doubled, lambda r: r - 1 if r in range(1, 8, 2) else -1]
    assert training(merged, ranks=12) > 0.5


def test_even_exchanges_are_one_round_each():
    """Two of them may be taken for one step."""
    wire = Wire()
    for step in range(40):
        for rank in range(6):
            for other in set(range(6)) - {rank}:
                wire.send(rank, other, 4_000_000, T0 + (50 * step + step % 2) * MS)
    flows, topology = wire.flows(), placed(6)
    (job,) = recognize(flows, topology)
    assert infer_layout(flows, job, topology).training == 0


def test_scalars_alone_train_nothing_where_no_host_hides_gradients():
    """Heartbeats of all with all look like the two rounds of a sum, but hardly move."""
    assert training(SWAPS * 2, octets=40_000, period=10_000) < 0.5


def in_hosts(partners, *, apart=0.0, members=4, rails=4, iterations=40):
    """Probability of training with an exchange of hosts along each rail in each iteration of 100 ms: to each partner so many
    ms after the one before.
    """
    wire = Wire()
    for step in range(iterations):
        for rail in range(rails):
            for host in range(members):
                for k, partner in enumerate(partners):
                    at = T0 + round((100 * step + apart * k) * MS)
                    wire.send(rails * host + rail, rails * partner(host) + rail, 4_000_000, at)
    flows, topology = wire.flows(), placed(members * rails, nics=rails)
    found = recognize(flows, topology)
    return max((infer_layout(flows, one, topology).training for one in found), default=0.0)


@pytest.mark.parametrize("messages", [1, 2])
@pytest.mark.parametrize("members", [3, 4])
def test_borders_of_hosts_in_a_row_do_not_train(members, messages):
    """Of a grid of ranks one side lies inside hosts, and the other closes a ring of few hosts."""
    assert in_hosts([lambda h: (h + 1) % members, lambda h: (h - 1) % members] * messages, members=members) < 0.5


def test_who_only_receives_is_counted_too():
    """The third of three hosts sends nothing."""
    wire = made.Wire(["a", "b", "c"])
    for step in range(40):
        for sender, receiver in ((0, 1), (1, 0), (0, 2), (1, 2)):
            wire.send(sender, receiver, 100 * step, 4_000_000)
    (one,) = made.evidence(wire)[2]
    assert len(one.members) == 3
    assert _hears_first(one) == 0


@pytest.mark.parametrize(("later", "counts"), [(2.0, False), (0.3, True)])
def test_a_path_on_which_rounds_follow_one_another_may_be_part_of_a_sum(later, counts):
    """Of a reduction by halving hosts hide all but a path. Neighbours that swap borders on both sides do so apart."""
    wire = made.Wire(["a", "b", "c", "d"])
    for step in range(40):
        for turn, pairs in enumerate([[(0, 1), (2, 3)], [(1, 2)]]):
            for a, b in pairs:
                for sender, receiver in ((a, b), (b, a)):
                    wire.send(sender, receiver, 100 * step + (0.3 + later) * turn, 4_000_000, long=0.32)
    (one,) = made.evidence(wire)[2]
    assert one.form == "two path"
    assert (_rounds(one) is None) == counts


def test_borders_of_ranks_in_space_do_not_train():
    """Three by four by four ranks on hosts of eight: first neighbours along one axis swap borders, then those along the next.

    After every twentieth time they work longer.
    """
    wire, axes = Wire(), [(3, 1), (4, 3), (4, 12)]
    for step in range(120):
        for rank in range(48):
            for k, (size, stride) in enumerate(axes):
                at = rank // stride % size
                for other in {rank + ((at + way) % size - at) * stride for way in (1, -1)}:
                    if rank // 8 != other // 8:
                        wire.send(rank, other, 4_000_000, T0 + round((40 * step + step // 20 * 400 + 4 * k) * MS))
    flows, topology = wire.flows(), placed(48, nics=8)
    assert max((infer_layout(flows, one, topology).training for one in recognize(flows, topology)), default=0.0) < 0.5


def test_two_rounds_of_four_hosts_may_train():
    """Recursive doubling: in the second round each sends what it received in the first."""
    assert in_hosts([lambda h: h ^ 1, lambda h: h ^ 2], apart=3.3) > 0.5
