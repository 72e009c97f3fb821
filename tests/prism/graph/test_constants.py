"""Test the constants of the graph."""

from prism.graph import constants


def test_numbers_are_positive_and_shares_are_small():
    numbers = {name: value for name, value in vars(constants).items() if name.isupper()}
    assert len(numbers) <= 25
    assert all(one > 0 for value in numbers.values() for one in (value if isinstance(value, tuple) else (value,)))
    assert numbers["FEW"] >= 2
    assert max(numbers[name] for name in ("WHOLE", "NEAR", "MODEL", "CLOSE", "ALIKE", "SOON")) < 0.5
