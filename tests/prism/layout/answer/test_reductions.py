import pytest

from prism.jobs import recognize
from prism.layout.answer.inference import infer_layout
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
