import numpy as np

from prism.layout.answer._explained_traffic import explained
from tests.prism.layout.made import asked, pipelined, tensor_and_data


def told(wire, per_host=1):
    problem, found = asked(wire, per_host)
    flows = wire.flows()
    made = explained(problem, found[0].best, 0.9, flows)
    return flows, made, made.parallelism(flows, made.of)


def test_stages_follow_the_activations():
    wire = pipelined(stages=4, replicas=2)
    _, made, _ = told(wire)
    assert [made.stages[e] for e in wire.endpoints] == [0, 1, 2, 3, 0, 1, 2, 3]


def test_every_record_of_a_group_is_in_its_stream_and_no_other():
    flows, _, parallelism = told(pipelined(stages=4, replicas=2))
    rows = np.concatenate([stream.rows for stream in parallelism.streams])
    assert len(np.unique(rows)) == len(rows) == len(flows)
    assert sorted(stream.kind for stream in parallelism.streams) == ["dp"] * 4 + ["pp"] * 12
    kinds = {(pair.src, pair.dst): pair.kind for pair in parallelism.pairs}
    assert kinds["10.0.0.1", "10.0.1.1"] == "pp"
    assert kinds["10.0.0.1", "10.0.4.1"] == "dp"
    assert sum(pair.octets for pair in parallelism.pairs) == flows.octets.sum()


def test_a_group_inside_a_host_is_told_by_placement():
    _, _, parallelism = told(tensor_and_data(hosts=4, per_host=4), 4)
    evidence = {(group.kind, group.evidence) for group in parallelism.groups}
    assert evidence == {("dp", "traffic"), ("tp", "placement")}
    assert len(parallelism.groups) == 8
