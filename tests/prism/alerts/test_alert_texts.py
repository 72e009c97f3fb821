import pytest

from prism.alerts.alert_texts import (
    describe_case,
    describe_cost,
    describe_duration,
    describe_job,
    describe_suspects,
    format_duration,
    format_time,
    summary,
)
from prism.findings.advice import CHECKS
from prism.model import Isolation
from tests.prism.alerts.stories import NOW, TOPOLOGY, S, case, finding, job


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (finding(), "Slow rank 10.0.5.1 (server5): job job1 is 1.26× slower"),
        (finding("slow_link", ("10.0.3.1",), slowdown=2.8), "Slow NIC 10.0.3.1 (server3): job job1 is 2.80× slower"),
        (finding("slow_link", ("leaf0", "spine0"), subject="link"), "Slow link leaf0 – spine0: job job1 is 1.26× slower"),
        (finding("slow_switch", ("leaf0",), subject="switch", slowdown=1.0), "Slow switch leaf0: job job1 is affected"),
        (finding("slow_step", ("job1",), subject="job", slowdown=float("nan")), "Slow steps of job job1"),
        (finding("crash", ("10.0.1.1",)), "Crash of 10.0.1.1 (server1): job job1 stopped"),
        (finding("hang", ("server3",), subject="host"), "Hang at server3: job job1 makes no progress"),
        (finding("hang", ("job1",), subject="job"), "Hang of job job1: makes no progress"),
        (
            finding("slow_group", tuple(f"10.0.{i}.1" for i in range(8)), subject="group"),
            "Slow group 10.0.0.1, 10.0.1.1, 10.0.2.1, 10.0.3.1 and 4 more: job job1 is 1.26× slower",
        ),
    ],
)
def test_the_first_line_says_what_is_wrong_with_whom(found, line):
    assert summary(found, TOPOLOGY) == line


def test_an_alert_says_how_bad_it_is_then_what_to_do_then_why():
    said = describe_case(case(), job(), TOPOLOGY, started_ns=NOW - 60 * S)
    assert said["description"].splitlines() == [
        f"Since {format_time(NOW - 60 * S)}, last seen {format_time(NOW - 10 * S)}. Lost so far: 25 GPU-seconds. "
        "This equals 1.7 of its 8 GPUs idle.",
        "Isolate server5 first: it contains the cause with a probability of 97% (confidence of this finding: 98%).",
        " ".join(CHECKS["slow_rank"]),
        "Why: 10.0.5.1 works longer.",
        "Job job1: 8 ranks on 8 hosts, DP 2 × PP 4.",
    ]
    assert {"summary", "action", "cost", "confidence", "finding", "look"} <= set(said)
    assert all(said.values())


def test_an_end_says_how_long_it_lasted_and_asks_for_nothing():
    said = describe_case(case(state="closed", closed=NOW + 780 * S), job(), TOPOLOGY, started_ns=NOW - 60 * S)
    assert said["description"].startswith(
        f"Resolved: lasted 14 min, from {format_time(NOW - 60 * S)} to {format_time(NOW + 780 * S)}."
    )
    assert "action" not in said
    assert "Isolate" not in said["description"]


def test_what_is_not_known_is_not_said():
    found = finding(isolate=Isolation(), confidence=0.0, lost_gpu_s=0.0, slowdown=1.0)
    said = describe_case(case(found=found), None, None, started_ns=NOW)
    assert said["action"] == "It is not known which host to isolate; start with 10.0.5.1."
    assert not {"cost", "confidence", "suspects", "about_job"} & set(said)
    assert "confidence" not in said["description"]


def test_costs_are_in_numbers_people_can_weigh():
    assert describe_cost(finding(lost_gpu_s=36_000.0), 8) == "Lost so far: 10.0 GPU-hours. This equals 1.7 of its 8 GPUs idle."
    assert describe_cost(finding("crash", lost_gpu_s=0.0), 8) == "The 8 GPUs of the job may stay idle until this is fixed."
    assert describe_cost(finding("crash", lost_gpu_s=0.0)) == ""


def test_suspects_are_the_likely_others():
    isolate = Isolation(("a",), (), 0.6, ((("a",), 0.6), (("b",), 0.3), (("c",), 0.01), (tuple("abcdefgh"), 0.9)))
    assert describe_suspects(finding(isolate=isolate)) == "b 30%"
    said = describe_case(case(found=finding(isolate=isolate)), None, None, started_ns=NOW)
    assert "\nOther suspects: b 30%.\n" in said["description"]


def test_times_that_no_calendar_has_are_no_error():
    assert format_time(10**25) == f"{10**25} ns"
    assert [format_duration(n * S) for n in (-5, 40, 600, 9000)] == ["0 s", "40 s", "10 min", "2 h 30 min"]
    assert describe_duration(case(), 0).startswith("Since 1970-01-01 00:00:00 UTC, last seen ")
    assert describe_duration(case(), NOW) == f"Since {format_time(NOW)}."
    assert describe_job(job().found).startswith("Job job1: 8 ranks")
