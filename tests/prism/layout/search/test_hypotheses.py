from prism.layout import constants
from prism.layout.constants import WEIGHTS
from prism.layout.search.hypotheses import hypotheses
from tests.prism.layout.made import asked, pipelined, tensor_and_data


def test_every_hypothesis_is_a_complete_statement():
    problem, _ = asked(tensor_and_data(hosts=3, per_host=2), 2)
    found = list(hypotheses(problem))
    assert {one.cut for one in found} == {(1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1)}
    for one in found:
        assert len(one.kinds) == len(one.families)
        assert set(one.layout) == {"dp", "pp", "tp", "ep", "cp"}
        for _, members in one.groups:
            assert len(members) > 1
            assert members <= set(range(6))


def test_what_speaks_against_a_hypothesis_has_a_name(monkeypatch):
    problem, found = asked(pipelined())
    monkeypatch.setattr(constants, "HELD_BY_MOST", float("inf"))  # tries unlikely kinds, too
    names = {name for one in hypotheses(problem, hopeless=float("inf")) for name in one.features}
    assert {"fit", "uneven", "product", "misplaced", "unforeseen", "lockstep"} <= names <= set(WEIGHTS)
    assert "product" not in found[0].best.terms


def test_silent_members_are_part_of_every_hypothesis():
    wire = tensor_and_data(hosts=3, per_host=2)
    wire.rows = [row for row in wire.rows if row[2] % 2 == row[3] % 2 == 0]
    problem, found = asked(wire, 2)
    assert len(problem.members) == 6
    assert found[0].best.layout["dp"] * found[0].best.layout["tp"] == 6
