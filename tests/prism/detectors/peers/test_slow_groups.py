import pytest

from prism.detectors.peers.slow_groups import Slow, one_of_two
from prism.detectors.slow_rank import slow_rank
from prism.loops.arrays.change_points import Shift
from tests.prism.faults import BAD
from tests.prism.traffic import Wire, address, placed, seen, training


@pytest.mark.parametrize(
    ("ranks", "factors", "ids"),
    [((1, 5), (1.5, 1.45), [(1, 5)]), ((1, 5), (1.9, 1.3), [(1,)]), ((1, 6), (1.5, 1.45), [(1,), (6,)])],
)
def test_two_of_one_pipeline_slow_alike_are_one_of_the_two(ranks, factors, ids):
    """Ranks 1 and 5 are stages of one pipeline, 1 and 6 of two."""
    view = seen(training(dp=4, pp=2, steps=20, wire=Wire(tcp=True)).flows(), placed(8))
    work = tuple(piece.copy() for piece in view.work)
    for rank, factor in zip(ranks, factors, strict=True):
        for piece in work:
            piece[rank, BAD.start : BAD.stop] *= factor
    view.__dict__["work"] = work
    expected = [f.ids for f in slow_rank(view)]
    assert sorted(expected) == sorted(tuple(sorted(address(rank) for rank in own)) for own in ids)


def test_a_rank_that_is_seen_in_two_ways_is_not_its_own_partner():
    view = seen(training(dp=4, pp=2, steps=20, wire=Wire(tcp=True)).flows(), placed(8))
    one = Shift(6, 11, 0.5, 20.0)
    found = [Slow(1, one, 1e6, 0.0, 1.2, "largest"), Slow(1, one._replace(stop=12, height=0.4), 1e6, 0.0, 1.2, beside=(2,))]
    assert one_of_two(view, found) == found[:1]
