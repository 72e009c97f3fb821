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
    assert list(family.counts) == [4]
    assert family.imbalance == 0
    assert (family.size, family.messages) == (4_000_000, 4)
