from prism.api.schemas.feedback_schemas import NewSilence


def test_a_silence_lasts_two_hours_by_default():
    assert NewSilence(matchers=["host=a"]).minutes == 120
