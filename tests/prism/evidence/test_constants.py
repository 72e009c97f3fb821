from prism.evidence import constants


def test_numbers_are_ratios_shares_and_counts():
    numbers = {name: value for name, value in vars(constants).items() if name.isupper()}
    assert 30 <= len(numbers) <= 60
    for name, value in numbers.items():
        for one in value if isinstance(value, tuple) else (value,):
            assert 0 < one <= 4096, name
