"""Test the constants of the observations."""

from prism.detectors.observations import constants


def test_parts_of_steps_are_several_and_not_short():
    assert constants.MOST_PARTS > 1
    assert constants.LEAST_PART_NS > 0
