from prism.layout import constants as c


def test_every_kind_has_its_scores_and_forms_are_known():
    assert set(c.SCORED) == set(c.KINDS) - {"edp"}
    assert set(c.EXCHANGES) <= set(c.KIND_SCORES)
    for row in c.KIND_SCORES.values():
        assert len(row) == len(c.SCORED)
        assert abs(sum(row)) < 0.05
