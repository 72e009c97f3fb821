from tests.prism.evidence.made import Wire, evidence, pipelined


def test_rings_of_one_rhythm_are_one_family_and_pipelines_another():
    _, _, _, found = evidence(pipelined(stages=4, replicas=2))
    assert [sorted({one.form for one in family}) for family in found] == [["two pair"], ["two path"]]
    assert [len(family) for family in found] == [4, 2]
    assert found[0].octets > found[1].octets


def test_a_family_knows_its_edges_joins_and_rounds():
    wire = Wire([f"a{i}" for i in range(6)])
    for step in range(8):
        for members in ([0, 1, 2], [3, 4, 5]):
            wire.ring(members, step * 100, 4_000_000)
    _, _, _, (family,) = evidence(wire)
    assert len(family.edges) == len(family.ends) == 6
    assert len(family.joins) == 4
    assert (family.size, family.rhythm.messages) == (4_000_000, 4)


def test_sizes_that_vary_are_in_order_of_time():
    wire = Wire(["a", "b"])
    sizes = wire.rng.integers(1_000_000, 9_000_000, 40).tolist()
    for k, octets in enumerate(sizes):
        wire.send(0, 1, 100 * (k // 4) + 10 * (k % 4), octets)
        wire.send(1, 0, 100 * (k // 4) + 10 * (k % 4) + 50, octets)
    _, _, _, found = evidence(wire)
    assert found[0].varying[0].tolist() == sizes
    assert evidence(pipelined(stages=4, replicas=2))[3][0].varying == {}


def test_rounds_among_ranks_that_are_no_power_of_two_are_one_collective():
    """Six ranks halve: two of them first hand all to a neighbour, four halve twice, and the two get the result back."""
    wire = Wire([f"a{i}" for i in range(6)])
    for step in range(8):
        at = step * 100.0
        for k, (pairs, octets) in enumerate(
            [([(0, 1), (2, 3)], 8), ([(1, 3), (4, 5)], 4), ([(1, 4), (3, 5)], 2), ([(1, 4), (3, 5)], 2), ([(1, 3), (4, 5)], 4)]
        ):
            for a, b in pairs:
                wire.send(a, b, at + 2 * k, octets * 1_000_000, long=1.9)
                if k:
                    wire.send(b, a, at + 2 * k, octets * 1_000_000, long=1.9)
        for a, b in ((1, 0), (3, 2)):
            wire.send(a, b, at + 10, 8_000_000, long=1.9)
    _, _, _, (family,) = evidence(wire)
    (whole,) = family
    assert whole.form == "two cube"
    assert whole.members == frozenset(range(6))


def test_chunks_throughout_the_step_and_at_its_end_are_two_families():
    """Tensor-parallel pairs and pairs of replicas exchange chunks of one size, as many in a step."""
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(8):
        for k in range(24):
            for a, b in ((0, 1), (2, 3), (1, 0), (3, 2)):
                wire.send(a, b, step * 200 + 5 * k, 1_000_000)
            for a, b in ((0, 2), (1, 3), (2, 0), (3, 1)):
                wire.send(a, b, step * 200 + 130 + 0.5 * k, 1_000_000)
    _, _, _, found = evidence(wire)
    assert sorted(sorted(sorted(one.members) for one in family) for family in found) == [[[0, 1], [2, 3]], [[0, 2], [1, 3]]]


def test_pairs_that_hand_over_and_pairs_that_reduce_are_two_families():
    """Two stages of two ranks each; the last level of a reduction joins pairs as hand-overs do, in messages of other sizes."""
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(8):
        for k in range(2):
            for a, b in ((0, 2), (1, 3)):
                wire.send(a, b, step * 200 + 30 * k, 4_000_000)
                wire.send(b, a, step * 200 + 100 + 30 * k, 4_000_000)
            for a, b in ((0, 1), (2, 3)):
                wire.send(a, b, step * 200 + 170 + 2 * k, 8_000_000)
                wire.send(b, a, step * 200 + 171 + 2 * k, 8_000_000)
    _, _, _, found = evidence(wire)
    assert [sorted(sorted(one.members) for one in family) for family in found] == [[[0, 1], [2, 3]], [[0, 2], [1, 3]]]


def test_pairs_that_exchange_more_chunks_than_others_hand_over_are_a_family_of_their_own():
    """Two stages of two ranks each; chunks of context have the size of those of hand-overs."""
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(8):
        for k in range(4):
            for a, b in ((0, 2), (1, 3)):
                wire.send(a, b, step * 200 + 20 * k, 1_000_000)
                wire.send(b, a, step * 200 + 90 + 20 * k, 1_000_000)
            for a, b in ((0, 1), (1, 0), (2, 3), (3, 2)):
                for half in (8, 98):
                    wire.send(a, b, step * 200 + 20 * k + half + 3 * (a > b), 1_000_000)
    _, _, _, found = evidence(wire)
    assert [sorted(sorted(one.members) for one in family) for family in found] == [[[0, 1], [2, 3]], [[0, 2], [1, 3]]]


def test_chunks_that_go_both_ways_at_once_are_no_hand_overs_though_nearly_as_many():
    """Four interleaved stages, whose last hands over less to the first, and two replicas that reduce by about as much."""
    wire = Wire([f"a{i}" for i in range(8)])
    for step in range(8):
        for k in range(24):
            for stage in range(4):
                for a in (2 * stage, 2 * stage + 1) if stage < 3 or k % 4 else ():
                    b = (a + 2) % 8
                    wire.send(a, b, step * 1000 + 20 * k + 2 * stage, 1_000_000)
                    wire.send(b, a, step * 1000 + 400 + 20 * k + 2 * (3 - stage), 1_000_000)
                for a, b in ((2 * stage, 2 * stage + 1), (2 * stage + 1, 2 * stage)) if k > 4 else ():
                    wire.send(a, b, step * 1000 + 430 + 21 * k, 1_000_000)
    _, _, _, found = evidence(wire)
    assert [sorted({m for one in family for m in one.members}) for family in found] == [list(range(8))] * 2
    assert [[0, 1], [2, 3], [4, 5], [6, 7]] in [sorted(sorted(one.members) for one in family) for family in found]


def exchanging(rounds):
    """Pairs 0–1 and 2–3, then 0–2 and 1–3, each both ways: so many messages, so far apart, ms, of so many octets."""
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(8):
        at = step * 400.0
        for pairs, (count, apart, octets) in zip((((0, 1), (2, 3)), ((0, 2), (1, 3))), rounds, strict=True):
            for _ in range(count):
                for a, b in pairs:
                    wire.send(a, b, at, octets, long=1.0)
                    wire.send(b, a, at, octets, long=1.0)
                at += apart
    _, _, _, found = evidence(wire)
    return [sorted(sorted(one.members) for one in family) for family in found]


def test_pairs_that_touch_are_two_operations_if_one_runs_more_often():
    """Experts' gradients come in two buckets, embeddings that two stages share in one transfer of four records."""
    assert exchanging([(2, 40.0, 8_000_000), (4, 1.1, 3_800_000)]) == [[[0, 1], [2, 3]], [[0, 2], [1, 3]]]


def test_pairs_that_touch_are_rounds_of_one_operation_if_they_run_as_often():
    """Exchanges with both neighbours: one block, then two."""
    (one,) = exchanging([(2, 40.0, 4_000_000), (2, 40.0, 8_000_000)])
    assert {member for own in one for member in own} == {0, 1, 2, 3}


def test_pairs_that_touch_some_others_exchange_the_gradients_of_tied_embeddings():
    """Two replicas of four stages reduce their gradients, and the first and the last stage those of their embeddings."""
    replicas, ends = [(0, 1), (2, 3), (4, 5), (6, 7)], [(0, 6), (1, 7)]
    wire = Wire([f"h{i}" for i in range(8)])
    for step in range(20):
        for pairs, at, octets in ((replicas, 20, 8_000_000), (ends, 60, 3_000_000)):
            for a, b in pairs:
                wire.send(a, b, 100 * step + at, octets, long=8.0)
                wire.send(b, a, 100 * step + at, octets, long=8.0)
    found = evidence(wire)[3]
    assert [sorted(tuple(sorted(one.members)) for one in family) for family in found] == [replicas, ends]
