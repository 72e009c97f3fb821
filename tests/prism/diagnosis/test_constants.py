"""Test the constants of the diagnosis."""

from prism.diagnosis import constants


def test_the_diagnosis_needs_few_numbers():
    numbers = {name: value for name, value in vars(constants).items() if name.isupper()}
    assert len(numbers) <= 32
    assert all(value > 0 for value in numbers.values())
