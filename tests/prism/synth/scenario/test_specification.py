from dataclasses import FrozenInstanceError

import pytest

from prism.synth.scenario.specification import Job, Spec


def test_ranks_are_the_product_of_the_dimensions_but_experts():
    assert Job(dp=4, pp=2, tp=8, cp=2, ep=4).world == 128


def test_a_spec_is_a_value():
    assert Spec() == Spec()
    with pytest.raises(FrozenInstanceError):
        Spec().name = "x"
