from dataclasses import replace

import pytest

from prism.findings.same_finding import is_claim, is_same_cause
from prism.model import Finding, Severity
from tests.prism.traffic import address, placed

LINK = Finding(
    "slow_link", "slow_link", "j", Severity.WARNING, "link", ("leaf0", "spine0"), 10, 20, 1.5, 9.0, "m", {}, 0.9, 1.0
)
HANG = replace(LINK, detector="hang", kind="hang", subject="endpoint", ids=(address(0),))


@pytest.mark.parametrize(("who", "same"), [((2, 5), True), ((2, 3), False), ((5, 6), False)])
def test_a_link_of_two_endpoints_may_be_one_between_the_switches_it_crosses(who, same):
    """Four ranks to a leaf: only the first pair leaves leaf0."""
    behind = replace(LINK, ids=(address(who[0]), address(who[1])))
    place = placed(8)
    assert is_same_cause(LINK, behind, place) == is_same_cause(behind, LINK, place) == same
    assert not is_same_cause(LINK, behind, None)
    assert not is_same_cause(behind, replace(behind, ids=(address(0), address(7))), place)  # two links behind the same leaves


def test_of_one_silence_one_is_to_blame_whoever_it_is():
    other = replace(HANG, ids=(address(3),))
    assert is_same_cause(HANG, replace(other, start_ns=19, end_ns=30), None)
    assert not is_same_cause(HANG, replace(other, start_ns=20, end_ns=30), None)
    assert not is_same_cause(HANG, replace(other, kind="crash", start_ns=15, end_ns=15), None)


def test_what_is_info_is_alike_only_as_info():
    info = replace(LINK, severity=Severity.INFO)
    assert not is_claim(info)
    assert is_claim(LINK)
    assert is_same_cause(info, info, None)
    assert not is_same_cause(info, LINK, None)
    assert is_same_cause(LINK, info, None)


def test_ranks_of_a_heavy_stage_are_not_to_blame():
    heavy = replace(HANG, kind="stage_imbalance", ids=(address(0), address(1)))
    slow = replace(HANG, kind="slow_rank")
    assert not is_same_cause(heavy, slow, None)
    assert is_same_cause(heavy, replace(heavy, ids=(address(1),)), None)
