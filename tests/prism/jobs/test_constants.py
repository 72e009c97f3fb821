"""Test the constants of job recognition."""

from prism.jobs import constants


def test_constants_are_ratios_or_counts():
    values = {name: value for name, value in vars(constants).items() if name.isupper()}
    assert len(values) <= 30
    for value in values.values():
        assert all(0 < one <= 20_000 for one in (value if isinstance(value, tuple) else (value,)))
