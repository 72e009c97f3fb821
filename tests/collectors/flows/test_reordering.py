"""Test that a flow's memory of packets equals sets of numbers."""

import random

import numpy as np
import pytest

from collectors.compilation.primitives import compiled
from collectors.flows.flow_state import REQUESTS, empty_table, renew, with_room
from collectors.flows.reordering import SEEN, UNKNOWN, UNSEEN, WINDOW, fill_octets, sight_packet, skip_octets


def one_flow():
    table = with_room(empty_table(), 1, 0, 0, 1)
    table.flows["kind"][0] = REQUESTS
    return table


@compiled
def sighted(t, numbers, found):
    flow = t.flows[0]
    renew(flow)
    for k in range(len(numbers)):
        found[k] = sight_packet(t, 0, flow.high, numbers[k])
        flow.high = max(flow.high, numbers[k])


@compiled
def filled(t, steps, found):
    for k in range(len(steps)):
        if steps[k, 2]:
            skip_octets(t, 0, steps[k, 0], steps[k, 1])
        else:
            found[k] = fill_octets(t, 0, steps[k, 0], steps[k, 1])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("leap", [3, 400, 5000])
def test_a_number_is_new_once(seed, leap):
    """Those further back than the window are not known; before the first, none was seen."""
    rng, high, numbers = random.Random(seed), 1 << 24, []
    for _ in range(800):
        kind = rng.random()
        number = high + (1 if kind < 0.5 else rng.randrange(1, leap) if kind < 0.6 else -rng.randrange(2 * WINDOW))
        numbers.append(number)
        high = max(high, number) if numbers[1:] else number
    found = np.zeros(len(numbers), np.int64)
    sighted(one_flow(), np.array(numbers), found)
    seen, high = {numbers[0]}, numbers[0]
    assert found[0] == UNSEEN
    for number, sight in zip(numbers[1:], found[1:].tolist(), strict=True):
        old = number <= high - WINDOW
        assert sight == (SEEN if number in seen else UNSEEN) or (old and sight == UNKNOWN)
        if not old:
            assert sight != UNKNOWN
        seen.add(number)
        high = max(high, number)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("begin", [0, 2**32 - 300])
def test_octets_fill_gaps_once(seed, begin):
    rng, steps, gaps = random.Random(seed), [], set()
    for k in range(6):
        low = 100 * k + rng.randrange(40)
        high = low + rng.randrange(1, 60)
        steps.append([(begin + low) % 2**32, (begin + high) % 2**32, 1])
        gaps |= set(range(low, high))
    wanted = []
    for _ in range(30):
        low, octets = rng.randrange(600), rng.randrange(1, 250)
        steps.append([(begin + low) % 2**32, octets, 0])
        wanted.append(len(gaps & set(range(low, low + octets))))
        gaps -= set(range(low, low + octets))
    found = np.zeros(len(steps), np.int64)
    table = one_flow()
    filled(table, np.array(steps), found)
    assert found[6:].tolist() == wanted
