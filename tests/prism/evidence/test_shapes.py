import pytest

from prism.evidence.shapes import across, shape_of, undirected


def both(pairs):
    return {edge: 1.0 for a, b in pairs for edge in ((a, b), (b, a))}


def shape(edges, way="two", hosts=range(16)):
    return shape_of(undirected(edges), {end for edge in edges for end in edge}, way, list(hosts))


def cube(levels):
    return [(a, a ^ (1 << k)) for a in range(1 << levels) for k in range(levels)]


@pytest.mark.parametrize(
    ("edges", "way", "expected"),
    [
        (both([(0, 1)]), "two", "pair"),
        (both([(0, 1), (1, 2), (2, 3)]), "two", "path"),
        ({(k, (k + 1) % 5): 1.0 for k in range(5)}, "one", "cycle"),
        (both([(a, b) for a in range(4) for b in range(a)]), "two", "clique"),
        (both(cube(3)), "two", "cube"),
        (both([(0, 1), (0, 2), (0, 3), (3, 4)]), "two", "tree"),
        (both([(0, 1), (0, 2), (0, 3), (3, 4), (4, 0), (4, 5)]), "two", "other"),
    ],
)
def test_shapes_of_graphs(edges, way, expected):
    assert shape(edges, way) == expected


def test_partners_in_the_same_host_may_be_hidden_levels():
    hosts = [0, 0, 1, 2, 3, 4, 5, 6]  # of the first level, 0 and 1 share a host
    edges = both([pair for pair in cube(3) if hosts[pair[0]] != hosts[pair[1]]])
    assert shape(edges, hosts=hosts) == "cube"
    assert shape(edges) == "other"


def test_pairs_inside_a_host_are_not_on_the_wire():
    assert across([0, 1, 2], [0, 0, 1]) == 2
    assert undirected([(1, 0), (0, 1), (2, 1)]) == {(0, 1), (1, 2)}
