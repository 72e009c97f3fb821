"""Test the constants of the assessment."""

from prism.diagnosis.assessment import constants


def test_shares_and_probabilities_are_below_one():
    for name in ("SLACK", "ISOLATED", "NO_SUSPECT", "SHARED_TIME"):
        assert 0 < getattr(constants, name) < 1
