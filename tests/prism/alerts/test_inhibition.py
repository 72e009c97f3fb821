import pytest

from prism.alerts.inhibition import explained_cases
from prism.findings.titles import title
from tests.prism.alerts.stories import TOPOLOGY, case, finding

RANK = finding("slow_rank", ("10.0.1.1",))
NIC = finding("slow_link", ("10.0.1.1",))
LINK = finding("slow_link", ("leaf0", "spine0"), subject="link")
SWITCH = finding("slow_switch", ("leaf0",), subject="switch", job="job2")
CRASH = finding("crash", ("10.0.7.1",), severity="critical")
HANG = finding("hang", ("10.0.6.1",), severity="critical")


@pytest.mark.parametrize(
    ("cause", "victim", "silent"),
    [
        (NIC, RANK, True),  # the same endpoint: the earlier cause
        (RANK, NIC, False),
        (NIC, finding("slow_rank", ("10.0.2.1",)), False),  # another endpoint
        (NIC, finding("slow_rank", ("server1",), subject="host"), True),  # its host
        (NIC, finding("slow_rank", ("10.0.1.1",), job="job2"), False),  # another job
        (SWITCH, LINK, True),  # a link at the switch, of whatever job
        (SWITCH, finding("slow_link", ("leaf1", "spine0"), subject="link"), False),
        (CRASH, RANK, True),  # a job that is dead has no other troubles
        (HANG, NIC, True),
        (CRASH, HANG, False),
        (HANG, CRASH, False),
        (CRASH, finding("slow_rank", ("10.0.1.1",), job="job2"), False),
        (finding("slow_link", ("10.0.1.1",), severity="info"), RANK, False),  # only claims explain
    ],
)
def test_who_is_silent_because_of_whom(cause, victim, silent):
    found = explained_cases([case("cause", cause), case("victim", victim)], TOPOLOGY)
    assert ("victim" in found) == silent
    assert "cause" not in found or not silent
    if silent:
        assert found["victim"] == f"explained by {title(cause, TOPOLOGY)} (cause)"


def test_nobody_is_silent_once_the_cause_is_over():
    assert explained_cases([case("cause", NIC, state="closed", closed=1), case("victim", RANK)], TOPOLOGY) == {}


def test_two_never_silence_one_another():
    kinds = [RANK, NIC, LINK, SWITCH, CRASH, HANG]
    for i, one in enumerate(kinds):
        for other in kinds[i:]:
            assert len(explained_cases([case("a", one), case("b", other)])) <= 1
