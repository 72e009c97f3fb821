from functools import partial

import pytest

from prism.evidence.communicators import joined
from prism.evidence.families import Family
from prism.layout.features.size_ratios import are_rounds, crossing, may_halve, parted, several_sizes, sharded, shards
from tests.prism.evidence.made import Wire, evidence


def test_an_exchange_of_two_hosts_may_be_the_last_level_of_halving():
    wire = Wire(["a", "b"])
    for step in range(8):
        wire.send(0, 1, step * 100, 4_000_000, long=2.0)
        wire.send(1, 0, step * 100, 4_000_000, long=2.0)
    (pair,) = evidence(wire)[3]
    assert may_halve(pair, 2)
    assert not may_halve(pair, 3)
    assert not may_halve(*gradients(4_000_000), 4)


def gradients(*sizes, rounds=(4, 4, 4)):
    """Gradients of several sizes that a ring reduces one after another."""
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(8):
        for i, (octets, number) in enumerate(zip(sizes, rounds, strict=False)):
            wire.ring([0, 1, 2, 3], step * 100 + 20 * i, octets, rounds=number)
    return evidence(wire)[3]


def test_gradients_of_experts_in_other_buckets_have_a_size_of_their_own():
    assert len(several_sizes(gradients(4_000_000, 930_000, rounds=(16, 4)))) == 2
    assert len(several_sizes(gradients(4_000_000, 2_000_000))) == 1


def gathered(gathers, reduced):
    """Two groups of four ranks that move shards in `gathers` passes per step; each shard is reduced with its replica."""
    wire = Wire([f"a{i}" for i in range(8)])
    shard = 4_000_000
    for step in range(8):
        for part in range(gathers):
            for group in ([0, 1, 2, 3], [4, 5, 6, 7]):
                wire.ring(group, step * 100 + 20 * part, shard, rounds=3)
        for one in range(4):
            for pair in ((one, one + 4), (one + 4, one)):
                wire.send(*pair, step * 100 + 80, reduced, long=2.0)
    return sorted(evidence(wire)[3], key=lambda family: -len(family[0].members))


def clear(moving, reducing, hidden=1):
    sizes = tuple(max(len(one.members) for one in family) for family in (moving, reducing))
    return shards([moving], [reducing], sizes, range(8), hidden)


def test_replicas_reduce_the_shards_that_others_gather():
    """A pair reduces a shard in two halves each way, so each sends as many octets as the shard has."""
    assert clear(*gathered(3, 4_000_000))
    assert clear(*gathered(2, 4_000_000))
    assert not clear(*gathered(3, 1_000_000)), "less than what is gathered"
    assert not clear(*gathered(3, 4_000_000)[::-1])


@pytest.mark.parametrize(("again", "is_clear"), [(2, True), (6, True), (3, False)])
def test_evaluations_gather_more_than_shards_are_scattered(again, is_clear):
    """Shards are gathered one way, in two of eight steps `again` more often, and scattered the other: once, or twice."""
    wire, scatters = Wire([f"a{i}" for i in range(8)]), 1 + again % 2
    for step in range(8):
        for group in ([0, 1, 2, 3], [4, 5, 6, 7]):
            for k in range(2 + again * (step % 4 == 2)):
                wire.ring(group, step * 200 + 15 * k, 4_000_000, rounds=3)
            for k in range(scatters):
                wire.ring(group[::-1], step * 200 + 140 + 15 * k, 4_000_000, rounds=3)
        for one in range(4):
            for pair in ((one, one + 4), (one + 4, one)):
                wire.send(*pair, step * 200 + 190, 4_000_000, long=2.0)
    found = evidence(wire)[3]
    moving, reducing = ([family for family in found if len(family[0].members) == members] for members in (4, 2))
    assert bool(shards(moving, reducing, (4, 2), range(8))) == is_clear


@pytest.mark.parametrize(("octets", "is_clear"), [(4_000_000, True), (3_700_000, False)])
def test_shards_are_clear_where_all_layers_move_equally_often_in_whole_messages(octets, is_clear):
    """Pairs gather shards twice and scatter gradients; rings of four reduce each shard, a part at a time."""
    wire = Wire([f"a{i}" for i in range(8)])
    for step in range(8):
        for k in range(3):
            for a in range(8):
                wire.send(a, a ^ 1, step * 100 + 20 * k, octets)
        for first in (0, 1):
            wire.ring([first, first + 2, first + 4, first + 6], step * 100 + 70, 1_000_000)
    moved, replicas = sorted(evidence(wire)[3], key=lambda family: len(family[0].members))
    assert (clear(moved, replicas) > 1) == is_clear
    assert clear(moved, replicas, hidden=2) == 0.0, "half as many as where each stands for two"


def test_gathers_and_scatters_of_one_group_are_one_side():
    """Four ranks gather shards in a ring and scatter gradients directly; pairs reduce each shard."""
    wire = Wire([f"a{i}" for i in range(8)])
    for step in range(8):
        for group in ([0, 1, 2, 3], [4, 5, 6, 7]):
            for part in range(2):
                wire.ring(group, step * 100 + 20 * part, 4_000_000, rounds=3)
            for a in group:
                for b in group:
                    for part in range(2 * (a != b)):
                        wire.send(a, b, step * 100 + 60 + part, 2_000_000)
        for a in range(8):
            wire.send(a, (a + 4) % 8, step * 100 + 80, 4_000_000)
    families = evidence(wire)[3]
    assert len(families) == 3

    def size(some):
        return max(len(one.members) for i in some for one in families[i])

    assert sharded(families, 8, size, range(8)) > 0
    assert sharded(families, 12, size, range(8)) == 0.0


def pairs_and(kind, times, octets, each=4_000_000):
    """Pairs of eight ranks exchange `each` as many times per step; squares reduce by doubling or a ring, in such messages."""
    wire = Wire([f"a{i}" for i in range(8)])
    for step in range(8):
        for k in range(times):
            for a in range(8):
                wire.send(a, a ^ 1, step * 100 + 60 * k // times, each)
        for first in (0, 1):
            group = [first, first + 2, first + 6, first + 4]
            if kind == "ring":
                wire.ring(group, step * 100 + 70, octets)
            else:
                for level in (2, 4):
                    for a in group:
                        wire.send(a, a ^ level, step * 100 + 70 + level, octets)
    return evidence(wire)[3]


def largest(families, some):
    return max(len(m) for m in components([pair for i in some for one in families[i] for pair in one.edges], 8))


def how_sharded(families):
    return sharded(families, 8, partial(largest, families), range(8))


def components(pairs, n):
    part = list(range(n))
    for a, b in pairs:
        part = [part[a] if own == part[b] else own for own in part]
    return [[m for m in range(n) if part[m] == own] for own in set(part)]


def test_replicas_that_reduce_by_doubling_send_each_shard_in_every_round():
    """Each shard moves three times, as much as two rounds of doubling less a third."""
    assert how_sharded(pairs_and("doubling", 3, 4_000_000)) > 1


def test_who_reduces_more_often_than_others_move_reduces_no_shards():
    """As tensor-parallel pairs that exchange in each layer, beside gradients of the same octets as gathered shards."""
    assert how_sharded(pairs_and("ring", 3, 1_000_000)) > 0
    assert how_sharded(pairs_and("ring", 8, 10_000_000, each=500_000)) < 0


def test_groups_cross_unless_they_are_rounds_or_the_same_groups():
    layers, levels = pairs_and("ring", 8, 10_000_000, each=500_000), gradients(4_000_000, 930_000, rounds=(16, 4))
    assert crossing(layers, partial(largest, layers))
    assert not crossing(levels, partial(largest, levels))
    assert not crossing(layers[:1], partial(largest, layers))


@pytest.mark.parametrize("often", [1, 4])
def test_parts_of_a_tree_that_move_equally_often_are_one_operation(often):
    wire = Wire([f"a{i}" for i in range(5)])
    for step in range(8):
        wire.send(0, 1, step * 100, 4_000_000)
        for again in range(often):
            wire.send(2, 3, step * 100 + 4 * again, 1_000_000)
            wire.send(3, 4, step * 100 + 4 * again, 1_000_000)
    whole, parts = evidence(wire)[3]
    assert {whole[0].form, parts[0].form} == {"one pair", "one path"}
    assert are_rounds(whole, parts, branches=True) == (often == 1)
    assert not are_rounds(whole, parts)


@pytest.mark.parametrize(("octets", "same"), [(1_000_000, True), (540_000, False)])
def test_pairs_are_rounds_of_one_reduction_if_they_move_as_much_or_half_or_a_quarter(octets, same):
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(8):
        for level, size in ((1, 4_000_000), (2, octets)):
            for a in range(4):
                wire.send(a, a ^ level, step * 100 + 10 * level, size, long=5.0)
    near, far = evidence(wire)[3]
    assert near[0].form == far[0].form == "two pair"
    assert are_rounds(near, far) == same


def through_hosts(reduced):
    """Four replicas of eight ranks, each on two hosts. A ring gathers shards of 4 MB, and one in the other direction scatters
    gradients: between hosts both use one NIC of each. Rings of four reduce each shard, in messages of `reduced` octets.
    """
    wire = Wire([f"a{i}" for i in range(32)])
    for step in range(8):
        for first in range(0, 32, 8):
            for k in range(7):
                wire.send(first, first + 4, step * 100 + k, 4_000_000)
                wire.send(first + 4, first, step * 100 + 40 + k, 4_000_000)
        for rank in range(8):
            wire.ring(list(range(rank, 32, 8)), step * 100 + 70, reduced)
    return evidence(wire)[3]


def test_shards_may_be_gathered_by_rings_through_hosts():
    for reduced, is_sharded in ((1_000_000, True), (400_000, False), (3_000_000, False)):
        families = through_hosts(reduced)

        def size(some, families=families):
            return max(len(m) for m in components([pair for i in some for one in families[i] for pair in one.edges], 32))

        assert sorted(len(one.members) for family in families for one in family) == [2] * 4 + [4] * 8
        assert (sharded(families, 32, size, range(32)) > 0) == is_sharded


def in_channels(channels, replicas=2):
    """Rings of eight ranks on two hosts of four gather shards twice and scatter gradients; rails reduce each among replicas.

    Each channel leaves a host at another rank.
    """
    ranks, hosts = 8 * replicas, [rank // 4 for rank in range(8 * replicas)]
    wire = Wire([f"a{i}" for i in range(ranks)])
    for step in range(8):
        for first in range(0, ranks, 8):
            for channel in range(channels):
                turned = [first + 4 * half + (channel + k) % 4 for half in (0, 1) for k in range(4)]
                for part in range(3):
                    octets = 4_000_000 // channels
                    wire.ring(turned, step * 200 + 30 * part + channel / 10, octets, rounds=7, hosts=hosts)
        for rank in range(8):
            wire.ring(list(range(rank, ranks, 8)), step * 200 + 120, 4_000_000 // replicas)
    _, steps, found, families = evidence(wire, hosts)
    opened = [[one for one in found if one.opened and min(one.members) // 8 == replica] for replica in range(replicas)]
    whole = Family(joined(own, steps, hosts) for own in opened)  # as placed: hosts join their ranks
    return [whole], [one for one in families if not one.opened], hosts


@pytest.mark.parametrize("channels", [1, 2])
def test_shards_of_two_hosts_move_in_rings_of_several_channels(channels):
    moving, reducing, hosts = in_channels(channels)
    assert shards(moving, reducing, (8, 2), hosts) > 1


@pytest.mark.parametrize(
    ("within", "around", "is_part"), [("ring", "ring", True), ("pairs", "ring", True), ("pairs", "all", False)]
)
def test_gradients_of_experts_are_reduced_within_parts_of_a_group(within, around, is_part):
    """All eight ranks reduce in a ring, or each with all; then four and four in rings, or two and two."""
    wire = Wire([f"a{i}" for i in range(8)])
    for step in range(8):
        if around == "ring":
            wire.ring(list(range(8)), step * 100, 1_000_000)
        for a in range(8):
            for b in range(8):
                if around == "all" and a != b:
                    wire.send(a, b, step * 100 + (b - a) % 8, 1_000_000)
            if within == "pairs":
                wire.send(a, (a + 4) % 8, step * 100 + 50, 7_000_000, long=3)
        for first in (0, 1):
            if within == "ring":
                wire.ring(list(range(first, 8, 2)), step * 100 + 50, 3_000_000)
    families = evidence(wire)[3]
    assert parted(families, partial(largest, families)) == is_part
