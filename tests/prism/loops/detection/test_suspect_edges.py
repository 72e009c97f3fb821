import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.detection.suspect_edges import Suspect, Verdict, seen_to_queue, verdicts

LEAVES = 4


def path(src, dst):
    """Endpoints stand in turn on leaves that one spine joins."""
    a, b = f"leaf{src % LEAVES}", f"leaf{dst % LEAVES}"
    return (a,) if a == b else (a, "spine", b)


@st.composite
def graphs(draw):
    """Edges among a dozen endpoints that all have some neighbours on every leaf."""
    chance = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    edges = {(a, b) for a in range(12) for b in range(12) if a != b and chance.random() < 0.7}
    return sorted(edges | {(a, (a + k) % 12) for a in range(12) for k in (1, 2, 3, 4)})


def best(edges, is_bad):
    bad = [edge for edge in edges if is_bad(*edge)]
    return verdicts(bad, [edge for edge in edges if edge not in bad], {edge: path(*edge) for edge in edges})[0]


@given(graphs(), st.integers(0, 11), st.sampled_from(["in", "out", "both"]))
def test_the_endpoint_whose_edges_are_bad(edges, guilty, way):
    one = best(edges, lambda a, b: (way != "in" and a == guilty) or (way != "out" and b == guilty))
    assert one.suspect == Suspect("endpoint", (guilty,))
    assert (one.coverage, one.precision, one.fit) == (1, 1, 1)


@given(graphs(), st.integers(0, LEAVES - 1), st.sampled_from(["up", "down", "both"]))
def test_the_uplink_whose_edges_are_bad(edges, leaf, way):
    name = f"leaf{leaf}"

    def crosses(a, b):
        route = path(a, b)
        return len(route) == 3 and ((way != "down" and route[0] == name) or (way != "up" and route[-1] == name))

    one = best(edges, crosses)
    assert (one.suspect, one.fit) == (Suspect("link", (name, "spine")), 1)


@given(graphs(), st.integers(0, LEAVES - 1))
def test_the_switch_all_of_whose_uplinks_are_bad(edges, leaf):
    """Two spines: neither link explains all, and what stays on the leaf is well."""
    name = f"leaf{leaf}"
    paths = {
        (a, b): path(a, b) if len(path(a, b)) == 1 else (path(a, b)[0], f"spine{(a + b) % 2}", path(a, b)[-1]) for a, b in edges
    }
    bad = [edge for edge in edges if name in paths[edge] and len(paths[edge]) > 1]
    one = verdicts(bad, [edge for edge in edges if edge not in bad], paths)[0]
    assert (one.suspect, one.fit) == (Suspect("switch", (name,)), 1)


@given(graphs(), st.integers(0, LEAVES - 1))
def test_the_switch_whose_edges_are_bad(edges, leaf):
    one = best(edges, lambda a, b: f"leaf{leaf}" in path(a, b))
    assert (one.suspect, one.fit) == (Suspect("switch", (f"leaf{leaf}",)), 1)


@given(graphs(), st.integers(0, 11))
def test_order_does_not_matter(edges, guilty):
    bad = [edge for edge in edges if guilty in edge]
    good = [edge for edge in edges if guilty not in edge]
    paths = {edge: path(*edge) for edge in edges}
    assert verdicts(bad, good, paths) == verdicts(bad[::-1], good[::-1], dict(reversed(paths.items())))


def test_a_suspect_is_as_good_as_what_it_explains_and_nothing_else():
    found = {v.suspect.what: v for v in verdicts([(0, 1), (0, 2)], [(0, 3), (4, 1)], {})}
    assert found[(0,)] == Verdict(Suspect("endpoint", (0,)), 1.0, pytest.approx(2 / 3))
    assert found[(2,)] == Verdict(Suspect("endpoint", (2,)), 0.5, 1.0)
    assert found[(1,)].fit == pytest.approx(0.5)
    assert (3,) not in found


def test_without_paths_only_endpoints_are_suspect_and_without_bad_edges_nobody():
    assert {v.suspect.kind for v in verdicts([(0, 1)], [(1, 2)], {})} == {"endpoint"}
    assert verdicts([], [(0, 1)], {}) == []
    assert Verdict(Suspect("switch", ("s",)), 0.0, 0.0).fit == 0


def test_a_link_where_alone_packets_queue_excludes_all_others():
    link, other = Suspect("link", ("leaf0", "spine0")), Suspect("link", ("leaf1", "spine0"))
    hops = [("leaf0", "spine0"), ("spine0", "leaf0")]
    assert seen_to_queue(Verdict(link, 1.0, 0.2), hops).precision == 1.0
    assert seen_to_queue(Verdict(other, 1.0, 0.2), hops).precision == 0.2
    assert seen_to_queue(Verdict(link, 0.8, 0.2), hops).precision == 0.2
    assert seen_to_queue(Verdict(link, 1.0, 0.2), [*hops, ("leaf1", "spine0")]).precision == 0.2
    assert seen_to_queue(Verdict(link, 1.0, 0.2), []).precision == 0.2
