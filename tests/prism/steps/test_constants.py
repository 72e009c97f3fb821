from prism.steps import constants


def test_there_are_few_constants_and_none_is_a_time_or_a_number_of_octets():
    values = {name: value for name, value in vars(constants).items() if name.isupper()}
    assert len(values) <= 25
    assert all(isinstance(value, (int, float, tuple)) for value in values.values())
