import numpy as np
import pytest

from prism.layout.answer.posterior import alternatives
from tests.prism.layout.made import asked, data_parallel, pipelined, tensor_and_data


def sizes(one):
    return {kind: size for kind, size in one.best.layout.items() if size > 1}


@pytest.mark.parametrize(("hosts", "per_host"), [(4, 4), (3, 2), (8, 1), (2, 8)])
def test_rounds_tell_a_ring_of_which_most_members_are_inside_hosts(hosts, per_host):
    _, found = asked(data_parallel(hosts, per_host), per_host)
    assert sizes(found[0]) == {"dp": hosts * per_host}
    assert found[0].probability * found[0].explains > 0.75


def test_a_pipeline_with_replicas():
    _, found = asked(pipelined(stages=4, replicas=2))
    assert sizes(found[0]) == {"dp": 2, "pp": 4}
    groups = {(kind, len(members)) for kind, members in found[0].best.groups}
    assert groups == {("dp", 2), ("pp", 4)}


def test_what_gpus_of_a_host_do_among_themselves_is_open_and_said_so():
    _, found = asked(tensor_and_data(hosts=4, per_host=4), 4)
    assert sizes(found[0]) == {"dp": 4, "tp": 4}
    assert found[0].probability < 0.95
    assert {"dp": 16} in [sizes(one) for one in alternatives(found)]
    assert len(alternatives(found)) <= 3


def test_stages_inside_hosts_are_apart_by_a_part_of_the_step():
    apart = tensor_and_data(hosts=4, per_host=4, rail_ms=4)
    assert sizes(asked(apart, 4)[1][0]) == {"dp": 4, "pp": 4}
    halves = tensor_and_data(hosts=4, per_host=4, rail_ms=[0, 0.05, 8, 8.05])
    assert {"dp": 4, "pp": 2, "tp": 2} in map(sizes, asked(halves, 4)[1][:2])  # not far behind: a replica in each half


@pytest.mark.parametrize("wire", [data_parallel(4, 2), pipelined(), tensor_and_data(4, 2)])
def test_probabilities_sum_to_one_and_a_believed_product_is_the_number_of_ranks(wire):
    _, found = asked(wire, 2 if len(wire.endpoints) == 8 and wire.endpoints[1] == "10.0.0.2" else 1)
    assert 0.99 < sum(one.probability for one in found) < 1 + 1e-9  # layouts of other numbers of ranks are left out
    for one in found:
        if one.probability * one.explains > 0.1:
            layout = one.best.layout
            assert np.prod([layout[kind] for kind in ("dp", "pp", "tp", "cp")]) == len(wire.endpoints)


def test_shuffled_records_are_explained_by_nothing():
    wire = pipelined()
    rng = np.random.default_rng(1)
    ends = rng.permutation([row[2:4] for row in wire.rows])
    wire.rows = [(*row[:2], int(src), int(dst), *row[4:]) for row, (src, dst) in zip(wire.rows, ends, strict=True)]
    _, found = asked(wire)
    assert not found or found[0].probability * found[0].explains < 0.5
