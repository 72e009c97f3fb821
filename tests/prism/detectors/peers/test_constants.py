"""Test the constants of the comparison with peers."""

from prism.detectors.peers import constants


def test_a_rank_that_is_clearly_slower_is_slower():
    assert constants.CLEARLY_SLOWER > 1
