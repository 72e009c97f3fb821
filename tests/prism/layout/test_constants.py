from prism.layout import constants as c


def test_every_kind_has_its_row_in_every_table():
    for table in (c.FORMS, c.RUNS, c.WIDE):
        assert set(table) == set(c.KINDS)


def test_probabilities_are_probabilities_and_mixtures_whole():
    for table in (c.VARYING, c.IN_TURN, c.AHEAD, c.WIDE):
        assert all(0 < value <= 1 for value in table.values())
    for mixture in c.RUNS.values():
        assert abs(sum(weight for weight, _, _ in mixture) - 1) < 1e-9
