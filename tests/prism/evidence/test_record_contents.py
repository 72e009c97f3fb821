from dataclasses import replace

import numpy as np
import pytest

from collectors.columns.record import TCP, UDP
from prism.evidence.constants import SAME_RECORDS
from prism.evidence.record_contents import BURST, _differ, with_bursts
from tests.prism.evidence.made import Wire


def ring(records, scalars=(0, 0, 0, 0), *, messages=0, protocol=UDP):
    """Each edge of a ring moves 48 MB in so many records; `scalars`: messages of 8 octets beside them."""
    wire = Wire([f"a{i}" for i in range(len(records))])
    for edge, (count, few) in enumerate(zip(records, scalars, strict=True)):
        for k in range(count):
            wire.send(edge, (edge + 1) % len(records), 1000 * k / count, 48_000_000 // count)
        for k in range(few):
            wire.send(edge, (edge + 1) % len(records), 1000 * k / few + 0.1, 8)
    flows = wire.flows()
    return replace(flows, messages=np.full_like(flows.messages, messages), protocol=np.full_like(flows.protocol, protocol))


def test_equal_octets_in_different_numbers_of_records_are_bursts():
    flows = ring((30, 32, 40, 48))
    marked = with_bursts(flows)
    assert (marked.messages == BURST).all()
    assert (flows.messages == 0).all(), "the table that was given stays as it is"
    assert np.array_equal(marked.octets, flows.octets)


def test_messages_merged_at_random_are_bursts():
    """480 equal messages on each edge, each merged with the one before it at even odds."""
    wire, chance = Wire([f"a{i}" for i in range(4)]), np.random.default_rng(0)
    for edge in range(4):
        own = np.cumsum(chance.random(480) < 0.5)
        for number, octets in enumerate(np.unique(own, return_counts=True)[1] * 100_000):
            wire.send(edge, (edge + 1) % 4, number * 5, int(octets))
    flows = wire.flows()
    assert (with_bursts(replace(flows, messages=np.zeros_like(flows.messages))).messages == BURST).all()


def test_numbers_of_many_pairs_differ_though_each_is_near_the_next():
    assert _differ(np.arange(40) * 0.8 * SAME_RECORDS)
    assert not _differ(np.repeat([0.0, 0.8 * SAME_RECORDS, 1.0], [15, 15, 10]))


def cut(rates):
    """Each edge of a ring of four moves 48 MB in records that an exporter cut after as long as 1 MB takes at its rate."""
    wire = Wire([f"a{i}" for i in range(4)])
    for edge, rate in enumerate(rates):
        sizes = [round(1e6 * rate)] * 47
        for k, octets in enumerate([*sizes, 48_000_000 - sum(sizes)]):
            wire.send(edge, (edge + 1) % 4, 20 * k, octets)
    flows = wire.flows()
    return replace(flows, messages=np.zeros_like(flows.messages))


def test_equal_octets_in_as_many_records_of_sizes_that_no_other_pair_has_are_bursts():
    assert (with_bursts(cut((1.0001, 1.0002, 1.0003, 1.0004))).messages == BURST).all()
    flows = cut((1.0, 1.0, 1.0, 1.0004))
    assert with_bursts(flows) is flows, "most share their sizes"


@pytest.mark.parametrize("scalars", [(0, 0, 0, 0), (0, 8, 16, 24)])
def test_equal_messages_are_no_bursts_even_beside_scalars(scalars):
    flows = ring((48, 48, 48, 48), scalars)
    assert with_bursts(flows) is flows


@pytest.mark.parametrize("known", [{"protocol": TCP}, {"messages": 1}])
def test_records_of_tcp_and_known_messages_stay_as_they_are(known):
    flows = ring((30, 32, 40, 48), **known)
    assert with_bursts(flows) is flows


def test_only_records_of_unknown_content_are_marked():
    flows = ring((30, 32, 40, 48))
    known = flows.src == 0
    marked = with_bursts(replace(flows, messages=known.astype(flows.messages.dtype)))
    assert (marked.messages == np.where(known, 1, BURST)).all()


def test_an_empty_table_is_returned_as_it_is():
    flows = ring((30, 32, 40, 48)).take(np.zeros(0, np.int64))
    assert with_bursts(flows) is flows
