"""Test which of two partners is late."""

from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.twins import guilty_twin
from tests.prism.faults import BAD, NIC, RANK, case
from tests.prism.traffic import address


def guilty(name, start, stop):
    view = case(name)
    comparison = Case(view).versus_own_steps
    work = {one.ids[0]: one for one in comparison.which if one.cause == "work" and one.subject == "endpoint"}
    pair = [work[address(rank)] for rank in (RANK, RANK - 1)]
    during = comparison.during(start, stop)
    return [guilty_twin(view, comparison, *pair, during), guilty_twin(view, comparison, *pair[::-1], during)]


def test_the_order_of_two_does_not_matter():
    for name in ("slow rank", "hang"):
        one, other = guilty(name, BAD.start, BAD.stop)
        assert (one is None and other is None) or one == 1 - other


def test_parts_of_the_network_and_comparisons_with_peers_are_left_alone():
    whole = Case(case("slow NIC"))
    comparison = whole.versus_own_steps
    nics = [one for one in comparison.which if one.cause == "network" and one.ids == (address(NIC),)]
    assert guilty_twin(whole.view, comparison, nics[0], nics[1], comparison.during(BAD.start, BAD.stop)) is None
    peers = whole.versus_peers
    assert guilty_twin(whole.view, peers, peers.which[0], peers.which[1], peers.during(0, len(whole.view.ends))) is None
