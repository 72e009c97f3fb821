"""Test the constants of the diagnosis."""

from prism.diagnosis import constants


def test_numbers_are_positive_and_few():
    numbers = {name: value for name, value in vars(constants).items() if name.isupper()}
    assert len(numbers) <= 40
    assert all(value > 0 for value in numbers.values())
