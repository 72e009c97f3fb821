import numpy as np

from collectors.columns.record import Transits
from collectors.live._hop_metrics import Hops
from collectors.operations.metrics import PREFIX


def transits(*rows):
    """Rows of sender, receiver, packets, mean and longest delay."""
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    return Transits(np.zeros(len(rows), np.int64), *columns, ("leaf0", "spine0"), 50)


def told(hops):
    return {count.name.removeprefix(PREFIX): dict(count.values) for count in hops.counts()}


def test_sums_grow_and_the_longest_is_the_last():
    hops, there, back = Hops(), ("leaf0", "spine0"), ("spine0", "leaf0")
    hops.add(transits((0, 1, 2, 1000, 1500), (0, 1, 2, 3000, 9000), (1, 0, 1, 500, 500)))
    first = told(hops)
    assert first["hop_packets"] == {there: 4, back: 1}
    assert first["hop_delay_seconds"] == {there: 8e-6, back: 5e-7}
    assert first["hop_longest_seconds"] == {there: 9e-6, back: 5e-7}
    hops.add(transits((0, 1, 1, 2000, 2000)))
    hops.add(transits())
    assert told(hops)["hop_packets"] == {there: 5, back: 1}
    assert told(hops)["hop_longest_seconds"] == {there: 2e-6, back: 5e-7}
