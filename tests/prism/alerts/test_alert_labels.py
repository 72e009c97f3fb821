from dataclasses import replace

import pytest

from prism.alerts.alert_labels import alerts, labels
from tests.prism.alerts.stories import NOW, TOPOLOGY, S, alerts_of, board, case, finding


@pytest.mark.parametrize(
    ("found", "host", "switch"),
    [
        (finding(), "server5", "leaf1"),
        (finding("slow_link", ("leaf0", "spine0"), subject="link"), None, "leaf0,spine0"),
        (finding("slow_link", ("10.0.1.1", "10.0.5.1"), subject="link"), "server1,server5", "leaf0,leaf1"),
        (finding("slow_switch", ("leaf0",), subject="switch"), None, "leaf0"),
        (finding("hang", ("server3",), subject="host"), "server3", None),
        (finding("slow_step", ("job1",), subject="job"), None, None),
        (finding(ids=("192.0.2.1",)), None, None),
    ],
)
def test_labels_name_host_and_switch_where_they_are_known(found, host, switch):
    made = labels(found, TOPOLOGY)
    assert (made.get("host"), made.get("switch")) == (host, switch)
    assert made["alertname"] == found.kind.replace("_", " ")
    assert (made["severity"], made["job"], made["subject"]) == ("warning", "job1", found.subject)
    assert all(made.values())
    assert not {"host", "switch"} & set(labels(finding(), None))


def test_many_ids_do_not_make_a_label_endless():
    assert labels(finding(ids=tuple(f"10.0.{i}.1" for i in range(100))), None)["ids"].endswith("10.0.7.1,+92")


def test_only_claims_are_reported_and_the_worst_first():
    cases = (
        case("a"),
        case("b", finding(severity="info", ids=("10.0.1.1",))),
        case("c", finding("crash", ("10.0.2.1",), severity="critical")),
    )
    assert [one.case for one in alerts_of(*cases)] == ["c", "a"]
    assert [one.case for one in alerts_of(*cases, severities=("info",))] == ["b"]


def test_equal_labels_are_one_alert():
    older, newer = case("a", opened=NOW - 90 * S), case("b")
    over = replace(case("c"), state="closed", closed_ns=NOW)
    (made,) = alerts_of(newer, over, older)
    assert (made.case, made.firing, made.started_ns) == ("a", True, NOW - 90 * S)
    (made,) = alerts_of(over, replace(over, id="d", closed_ns=NOW + S))
    assert (made.case, made.ended_ns) == ("d", NOW + S)


def test_links_and_labels_of_the_site():
    (made,) = alerts(board(case()), extra_labels={"cluster": "east", "job": "mine"}, external_url="https://prism.example/")
    assert made.link == made.annotations["dashboard"] == "https://prism.example/#/findings/c1"
    assert (made.labels["cluster"], made.labels["job"]) == ("east", "job1")  # what names it is not replaced
    assert alerts_of(case())[0].link == ""


def test_what_ended_ended_after_it_began():
    (made,) = alerts_of(case(state="closed", closed=5))
    assert made.ended_ns == made.started_ns + 1
