from prism.jobs import constants


def test_constants_are_ratios_or_counts():
    values = {name: value for name, value in vars(constants).items() if name.isupper()}
    assert len(values) <= 30
    assert all(isinstance(value, (int, float)) and 0 < value < 1000 for value in values.values())
