import pytest

from prism.inventory.operator_hints import Hints, JobHints
from prism.layout.answer._hint_priors import prior

ENDS = ("10.0.0.1", "10.0.0.2")


def layout(**sizes):
    return dict.fromkeys(("dp", "pp", "tp", "ep", "cp"), 1) | sizes


def test_nothing_hinted_says_nothing():
    assert prior(Hints(), layout(tp=8), ENDS) == 0
    assert prior(Hints(jobs=(JobHints("", frozenset({"9.9.9.9"}), {"tp": 8}),)), layout(), ENDS) == 0


@pytest.mark.parametrize("hints", [Hints(tp=(8,)), Hints(jobs=(JobHints("", frozenset(ENDS), {"tp": 8}),))])
def test_a_given_size_is_likelier_and_a_near_one_likelier_than_a_far_one(hints):
    given, near, far = (prior(hints, layout(tp=size), ENDS) for size in (8, 4, 1))
    assert given == 0 > near > far
    assert far > -10, "no fact"


def test_the_size_given_for_the_job_counts_and_not_the_site():
    hints = Hints(tp=(8,), jobs=(JobHints("", frozenset(ENDS), {"tp": 2}),))
    assert prior(hints, layout(tp=2), ENDS) == 0 > prior(hints, layout(tp=8), ENDS)


def test_tensor_parallelism_fits_hosts():
    assert prior(Hints(gpus_per_host=8), layout(tp=4), ENDS) == prior(Hints(gpus_per_host=8), layout(tp=16), ENDS) == 0
    assert prior(Hints(gpus_per_host=8), layout(tp=3), ENDS) < 0
