"""Connected parts, against networkx."""

from itertools import pairwise

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.connected_parts import connected

nodes = st.integers(0, 11)


@given(st.lists(st.tuples(nodes, nodes), max_size=14), st.permutations(range(12)))
def test_parts_are_those_of_networkx_in_the_same_order(pairs, starts):
    graph = nx.Graph()
    graph.add_nodes_from(starts)
    graph.add_edges_from(pairs)
    told, cuts = connected(np.array(pairs, np.int64).reshape(-1, 2), np.array(starts), 12)
    found = [told[a:b].tolist() for a, b in pairwise(cuts.tolist())]
    assert [set(part) for part in found] == list(nx.connected_components(graph))
    firsts = [part[0] for part in found]
    assert found == [list(dict.fromkeys([first, *(b for _, b in nx.bfs_edges(graph, first))])) for first in firsts]
