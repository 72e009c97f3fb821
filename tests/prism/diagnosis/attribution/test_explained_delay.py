"""Test the share of new delays that each candidate explains."""

import numpy as np
import pytest

from prism.diagnosis.attribution.comparisons import Case
from tests.prism.faults import BAD, NIC, RANK, case
from tests.prism.traffic import address


@pytest.mark.parametrize(("name", "cause", "who"), [("slow rank", "work", RANK), ("slow NIC", "network", NIC)])
def test_the_culprit_explains_most_in_every_slow_step(name, cause, who):
    comparison = Case(case(name)).versus_own_steps
    for step in BAD:
        best = comparison.which[int(np.argmax(comparison.share[:, step]))]
        assert (best.cause, best.ids) == (cause, (address(who),))


def test_delays_are_told_apart_by_when_they_are_born():
    rank, nic = (Case(case(name)).versus_own_steps.gone for name in ("slow rank", "slow NIC"))
    steps = list(BAD)
    assert rank.before[:, steps].sum() > 10 * rank.within[:, steps].sum()
    assert nic.network[steps].tolist() == [1.0] * len(steps)
    assert nic.within[:, steps].max(axis=0).min() > nic.before[:, steps].max(axis=0).max()


def test_ends_never_explain_more_than_there_is():
    gone = Case(case("slow rank")).versus_own_steps.gone
    assert np.all(gone.sender <= gone.before + 1)
    assert np.all(gone.receiver <= gone.before + 1)
    assert np.allclose(gone.total, gone.before.sum(axis=0) + gone.within.sum(axis=0))
