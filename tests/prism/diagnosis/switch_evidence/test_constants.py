"""Test the constants of the observations."""

from prism.diagnosis.switch_evidence import constants


def test_numbers_are_positive_and_few():
    numbers = {name: value for name, value in vars(constants).items() if name.isupper()}
    assert len(numbers) <= 16
    assert all(value > 0 for value in numbers.values())
