"""Test the constants of the loops."""

from prism.loops import constants


def test_numbers_are_positive_and_tolerances_grow():
    numbers = {name: value for name, value in vars(constants).items() if name.isupper()}
    assert all(value > 0 for value in numbers.values())
    assert constants.EQUAL < constants.TOLERANCE
