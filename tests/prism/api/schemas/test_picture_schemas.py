from prism.api.schemas.picture_schemas import ShareRow


def test_a_row_of_many_ranks_has_no_place():
    row = ShareRow(ranks=8, rank=None, endpoint=None, host=None, stage=1, group=None, rail=None)
    assert row.model_dump()["ranks"] == 8
