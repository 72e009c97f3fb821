"""Test the constants of stops."""

from prism.diagnosis.stops import constants


def test_numbers_are_positive_and_few():
    numbers = {name: value for name, value in vars(constants).items() if name.isupper()}
    assert len(numbers) <= 24
    assert all(value > 0 for value in numbers.values())
