"""Test the constants of the loops."""

from prism.loops import constants


def test_numbers_are_positive():
    numbers = {name: value for name, value in vars(constants).items() if name.isupper()}
    assert all(value > 0 for value in numbers.values())
