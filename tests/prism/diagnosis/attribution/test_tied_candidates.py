"""Test which causes are joined, and that all parts of a host are one place."""

from prism.diagnosis.attribution._tied_candidates import joined, place
from prism.diagnosis.attribution.candidates import candidates
from prism.diagnosis.attribution.comparisons import Case
from tests.prism.faults import NIC, RANK, case
from tests.prism.traffic import address


def known(name, cause, **wanted):
    """A job, and its candidates of one cause by what they name."""
    view = case(name)
    found = candidates(view, Case(view).versus_own_steps.delays.transfers)
    return view, {one.ids: one for one in found if one.cause == cause and all(getattr(one, k) == v for k, v in wanted.items())}


def test_work_of_two_ranks_is_joined_to_the_link_between_them_with_the_lanes_of_both():
    view, work = known("slow rank", "work", subject="endpoint")
    mine, other = work[address(RANK),], work[address(RANK + 3),]
    both = joined(view, mine, other)
    assert (both.cause, both.subject, both.ids) == ("work", "link", tuple(sorted((address(RANK), address(RANK + 3)))))
    assert set(both.lanes) == {*mine.lanes, *other.lanes}


def test_work_and_network_or_a_rank_and_a_path_are_not_joined():
    view, network = known("slow NIC", "network", way="both")
    _, work = known("slow NIC", "work", subject="endpoint")
    _, paths = known("slow NIC", "network", subject="link")
    mine = network[address(NIC),]
    assert joined(view, mine, work[address(NIC),]) is None
    path = next(one for one in paths.values() if set(one.lanes) != set(mine.lanes))
    assert joined(view, mine, path) is None


def test_a_place_is_that_of_all_parts_of_a_host():
    view, work = known("slow rank", "work", subject="endpoint")
    one = work[address(RANK),]
    assert place(view, one) == ("work", view.host(address(RANK)))
    _, paths = known("slow rank", "network", subject="link")
    path = next(iter(paths.values()))
    assert place(view, path) == ("link", *path.ids)
