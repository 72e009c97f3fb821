from dataclasses import replace

import pytest

from prism.findings.same_finding import alike, loud
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
    assert alike(LINK, behind, place) == alike(behind, LINK, place) == same
    assert not alike(LINK, behind, None)
    assert not alike(behind, replace(behind, ids=(address(0), address(7))), place)  # two links behind the same leaves


def test_of_one_silence_one_is_to_blame_whoever_it_is():
    other = replace(HANG, ids=(address(3),))
    assert alike(HANG, replace(other, start_ns=19, end_ns=30), None)
    assert not alike(HANG, replace(other, start_ns=20, end_ns=30), None)
    assert not alike(HANG, replace(other, kind="crash", start_ns=15, end_ns=15), None)


def test_what_is_info_is_alike_only_as_info():
    info = replace(LINK, severity=Severity.INFO)
    assert not loud(info)
    assert loud(LINK)
    assert alike(info, info, None)
    assert not alike(info, LINK, None)
    assert alike(LINK, info, None)
