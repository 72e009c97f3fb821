"""Test the constants of the step search."""

from prism.steps import constants


def test_constants_are_ratios_or_counts():
    values = {name: value for name, value in vars(constants).items() if name.isupper()}
    assert len(values) <= 60
    assert all(isinstance(value, (int, float, tuple)) for value in values.values())
