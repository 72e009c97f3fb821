"""Test the constants of the graph."""

from prism.graph import constants


def test_the_graph_needs_few_numbers_and_each_is_what_it_says():
    numbers = {name: value for name, value in vars(constants).items() if name.isupper()}
    assert len(numbers) <= 14
    assert all(value > 0 for value in numbers.values())
    assert numbers["FEW"] >= 2
    assert max(numbers[name] for name in ("WHOLE", "NEAR", "MODEL", "CLOSE", "ALIKE", "SOON")) < 0.5
