import numpy as np
import pytest

from benchmarks.stops import PRESENT, Example, chance_of, fitted, score
from prism.diagnosis.stops.due_operations import Due
from tests.prism.faults import RANK, case


def example(lanes, guilty, alive=False):
    lanes = np.reshape(lanes, (-1, 2)).astype(np.int64)
    return Example("a", case("hang"), Due(lanes, np.ones(len(lanes)), np.full(lanes.shape, alive)), guilty)


def test_the_rank_at_one_end_of_all_due_operations_is_likely():
    likely, right = chance_of(example([(RANK - 1, RANK), (RANK, RANK + 1)], RANK), PRESENT)
    assert likely > 0.8
    assert right
    likely, right = chance_of(example([(RANK - 1, RANK), (RANK, RANK + 1)], RANK + 5), PRESENT)
    assert likely < 0.1
    assert not right


def test_a_likelihood_follows_the_examples():
    """Ranks that stopped although they seem alive make this likelier."""
    known = [example([(RANK, RANK + 1), (RANK + 1, RANK)], RANK, alive=True)]
    best = fitted(known)
    assert score(known, best) > score(known, PRESENT)
    assert best["alive"] > PRESENT["alive"] or best["nobody"] < PRESENT["nobody"]
    assert score(known, PRESENT) == pytest.approx(np.log(chance_of(known[0], PRESENT)[0]))
