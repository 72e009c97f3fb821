from prism.layout import constants
from prism.layout.constants import WEIGHTS
from prism.layout.search.hypotheses import _of_few_kinds, hypotheses
from tests.prism.layout.made import asked, pipelined, tensor_and_data


def test_every_hypothesis_is_a_complete_statement():
    problem, _ = asked(tensor_and_data(hosts=3, per_host=2), 2)
    found = list(hypotheses(problem, hopeless=float("inf")))
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


def fits(none=-4.0, **likely):
    """Log-likelihoods of a family, by kind."""
    return dict.fromkeys(constants.KINDS, -20.0) | {"none": none} | likely


def test_all_families_or_all_but_two_may_reduce_gradients():
    rounds, stages = fits(dp=-1.0, cp=-2.0), fits(dp=-3.0, pp=-0.5)
    found = dict(_of_few_kinds([rounds, rounds, stages]))
    assert found == {
        ("dp", "dp", "dp"): -5.0,
        ("cp", "dp", "dp"): -6.0,
        ("dp", "cp", "dp"): -6.0,
        ("dp", "dp", "pp"): -2.5,
        ("cp", "cp", "dp"): -7.0,
        ("cp", "dp", "pp"): -3.5,
        ("dp", "cp", "pp"): -3.5,
    }


def test_all_families_may_serve_one_other_dimension():
    found = dict(_of_few_kinds([fits(tp=-1.0), fits(tp=-2.0)]))
    assert found == {("tp", "tp"): -3.0}


def test_families_that_are_likelier_of_no_kind_are_left_out():
    """The others may reduce gradients, but not together with a family that is likelier of no kind."""
    reduces, neither = fits(dp=-1.0), fits(dp=-5.0, tp=-4.5)
    assert dict(_of_few_kinds([reduces, neither])) == {("dp", "tp"): -5.5}
    assert not list(_of_few_kinds([neither, neither]))
