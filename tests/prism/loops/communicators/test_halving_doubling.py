from __future__ import annotations

import numpy as np

from prism.loops.arrays.edges import Edge, Pair, edge_from
from prism.loops.communicators.halving_doubling import _of_lanes, with_cubes


def edge(key: Pair, volume: int) -> Edge:
    one = np.array([1], np.int64)
    return edge_from(key, np.array([0]), one, one, np.array([volume]))


def cube(dimensions: int, *, volume: int = 1 << 20) -> dict[Pair, Edge]:
    """Halving and doubling among 2^dimensions ranks: the partner across the highest bit gets most."""
    pairs = [(r, r ^ (1 << bit), volume << bit) for r in range(2**dimensions) for bit in range(dimensions)]
    return {(src, dst): edge((src, dst), octets) for src, dst, octets in pairs}


def test_rounds_that_looked_like_communicators_of_their_own_are_one() -> None:
    edges = cube(3)
    parts = [
        {key for key in edges if key[0] ^ key[1] == bit and (bit > 1 or min(key) == low)}
        for bit in (2, 4, 1)
        for low in (0, 2, 4, 6)
    ]
    assert with_cubes([part for part in parts if part], edges) == [set(edges)]


def test_what_is_no_cube_stays_as_it_is() -> None:
    square = cube(2)  # two kinds of groups that cross
    parts = [{key for key in square if key[0] ^ key[1] == bit} for bit in (1, 2)]
    assert with_cubes(parts, square) == parts
    odd = {key: e for key, e in cube(3).items() if key not in ((0, 1), (1, 0))}  # a pair is missing
    assert with_cubes([set(odd)], odd) == [set(odd)]
    uneven = {key: edge(key, e.volume * (3 if key[0] ^ key[1] == 4 else 1)) for key, e in cube(3).items()}
    assert with_cubes([set(uneven)], uneven) == [set(uneven)]


def test_a_square_is_one_where_most_of_an_equal_one_is() -> None:
    """Of two stages that reduce alike, one's rounds came close enough together to be known as one."""
    known = cube(2)
    far = {(src + 4, dst + 4): edge((src + 4, dst + 4), e.volume) for (src, dst), e in known.items()}
    other = {key: edge(key, 3 * e.volume) for key, e in far.items()}
    last = {(2, 3), (3, 2)}

    def apart(square: dict[Pair, Edge]) -> list[set[Pair]]:
        return [{key for key in square if key[0] ^ key[1] == bit} for bit in (1, 2)]

    parts = [set(known) - last, last, *apart(far)]
    assert with_cubes(parts, known | far) == [set(known), set(far)]
    assert with_cubes([set(known), *apart(other)], known | other) == [set(known), *apart(other)]


def test_other_lanes_of_a_part_stay_a_part() -> None:
    edges = cube(3) | {(0, 9): edge((0, 9), 77), (9, 0): edge((9, 0), 77)}
    found = with_cubes([set(edges)], edges)
    assert found == [set(cube(3)), {(0, 9), (9, 0)}]


def stepping(rounds: int, part: float) -> dict[Pair, Edge]:
    """Halving and doubling of 16 ranks, a step each 100 ms, the last of which only those ranks that have no `part` begin."""
    edges = {}
    for rank in range(16):
        for turn, bit in enumerate((8, 4, 2, 1, 1, 2, 4, 8)):
            steps = rounds - (turn > 3 or rank & 1 == 0 or part < turn / 4)
            edges.setdefault((rank, rank ^ bit), []).extend((100 * step + turn, bit << 20) for step in range(steps))
    out = {}
    for key, sent in edges.items():
        start, octets = np.array(sorted(sent), np.int64).T
        out[key] = edge_from(key, np.arange(len(start)), start * 1_000_000, start * 1_000_000 + 900_000, octets)
    return out


def test_a_step_that_is_cut_short_makes_no_other_cubes() -> None:
    """A rank of one half is late: the other half has begun the next step, in which its volumes stay those of a cube."""
    for part in (0.0, 0.5, 1.0):
        for rounds in (8, 25):
            edges = stepping(rounds, part)
            assert with_cubes([{key} for key in edges], edges) == [set(edges)], (part, rounds)


def test_what_pipelines_hand_on_may_be_half_of_a_round_in_the_middle_of_a_step() -> None:
    """Two squares, and pairs between them that speak with each of six micro-batches, by chance half as much in all."""
    square = [(base + a, base + a ^ bit, bit) for base in (0, 4) for bit in (1, 2) for a in range(4)]
    spoken: dict[Pair, list[tuple[int, int, int]]] = {}
    for step in range(4):
        begin = 10_000 * step
        for micro in range(6 if step < 3 else 4):
            for a in range(8):
                spoken.setdefault((a, a ^ 4), []).append((begin + 1500 * micro, begin + 1500 * micro + 10, 1000))
        for src, dst, bit in square if step < 3 else []:
            spoken.setdefault((src, dst), []).append((begin + 8500, begin + 8600, 40_000 * bit // 3))
    edges = {key: edge_from(key, np.arange(len(own)), *np.array(own, np.int64).T) for key, own in spoken.items()}
    assert [dimensions for dimensions, _ in _of_lanes(edges, least=3)] == []
