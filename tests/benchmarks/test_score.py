import copy
import importlib.util
import random
from pathlib import Path

import pytest

from benchmarks.score import Counts, compare

S = 1_000_000_000


def truth(ranks=4, steps=6):
    begin_end = [[i, i * S, (i + 1) * S] for i in range(steps)]
    hosts = {f"h{r}": {"ip": f"10.0.0.{r}", "leaf": "leaf0", "server": r, "gpu": 0} for r in range(ranks)}
    job = {
        "mode": "3d",
        "layout": {"dp": 2, "pp": 2, "tp": 1, "ep": 1},
        "groups": {"dp": [[0, 1], [2, 3]], "pp": [[0, 2], [1, 3]], "tp": [[0]]},
        "ranks": [{"rank": r, "ip": f"10.0.0.{r}", "server": r} for r in range(ranks)],
        "steps": {str(r): begin_end for r in range(ranks)},
    }
    fault = {"kind": "compute_slow", "ranks": [1], "job": "A", "start_ns": 2 * S, "end_ns": 4 * S}
    return {"hosts": hosts, "links": [], "jobs": {"A": job}, "faults": [fault]}


def perfect(true):
    steps = [[a, b] for _, a, b in true["jobs"]["A"]["steps"]["0"]]
    group = [("dp", (0, 1)), ("dp", (2, 3)), ("pp", (0, 2)), ("pp", (1, 3))]
    job = {
        "endpoints": [f"10.0.0.{r}" for r in range(4)],
        "start_ns": 0,
        "end_ns": 6 * S,
        "parallelism": {"dp": 2, "pp": 2, "tp": 1, "ep": 1, "cp": 1},
        "groups": [{"kind": k, "members": [f"10.0.0.{r}" for r in g]} for k, g in group],
        "pairs": [{"src": f"10.0.0.{g[0]}", "dst": f"10.0.0.{g[1]}", "kind": k} for k, g in group],
        "ranks": [{"endpoint": f"10.0.0.{r}", "steps": copy.deepcopy(steps)} for r in range(4)],
    }
    return {"jobs": [job], "findings": [finding()]}


def finding(ids=("10.0.0.1",), kind="slow_rank", subject="endpoint", severity="warning", start=2 * S, end=4 * S):
    subject = {"type": subject, "ids": list(ids)}
    return {"kind": kind, "severity": severity, "subject": subject, "start_ns": start, "end_ns": end, "score": 9.0}


def figures(report, true=None):
    return compare(report, true or truth()).figures()


def test_a_perfect_report():
    made = figures(perfect(truth()))
    for name in ("jobs_exact", "jobs_ari", "layout_exact", "groups_f1", "pairs_precision", "steps_recall", "steps_precision"):
        assert made[name] == 1.0
    assert made["faults_recall"] == made["faults_kind"] == made["findings_precision"] == 1.0
    assert made["step_error_mean"] == made["onset_steps"] == made["jobs_extra"] == made["healthy_findings"] == 0


def test_an_empty_report_has_found_nothing():
    made = figures({"jobs": [], "findings": []})
    assert made["jobs_exact"] == made["layout_exact"] == made["groups_f1"] == made["steps_recall"] == made["faults_recall"] == 0
    assert made["step_error_median"] == 1.0
    assert made["findings_precision"] is None


def test_a_missing_endpoint_costs_the_job_and_its_groups():
    report = perfect(truth())
    report["jobs"][0]["endpoints"].pop()
    report["jobs"][0]["groups"] = [g for g in report["jobs"][0]["groups"] if "10.0.0.3" not in g["members"]]
    made = figures(report)
    assert made["jobs_exact"] == 0
    assert made["jobs_extra"] == 1
    assert made["groups_f1"] == pytest.approx(2 * 2 / (4 + 2))


def test_a_late_step_end_costs_two_intervals_and_beyond_a_quarter_step_a_match():
    report = perfect(truth())
    report["jobs"][0]["ranks"][0]["steps"][2][1] += S // 10
    made = figures(report)
    assert made["steps_recall"] == 1.0
    assert made["step_error_mean"] == pytest.approx(2 * 0.1 / 20)
    report["jobs"][0]["ranks"][0]["steps"][2][1] += S // 5
    made = figures(report)
    assert made["steps_recall"] == made["steps_precision"] == pytest.approx(23 / 24)
    assert made["step_error_mean"] == pytest.approx(2 / 20)


@pytest.mark.parametrize(
    ("claim", "found", "right"),
    [
        (finding(), 1, 1),
        (finding(("server1",), subject="host"), 1, 1),
        (finding(("10.0.0.1", "10.0.0.2")), 0, 0),
        (finding(("10.0.0.1", "10.0.0.2"), subject="link"), 1, 1),
        (finding(()), 0, 0),
        (finding(("10.0.0.2",)), 0, 0),
        (finding(severity="info"), 0, None),
        (finding(start=0, end=11 * S), 0, 0),
        (finding(start=1 * S, end=8 * S), 1, 1),
    ],
)
def test_what_counts_as_a_fault_found(claim, found, right):
    made = figures(perfect(truth()) | {"findings": [claim]})
    assert made["faults_recall"] == found
    assert made["findings_precision"] == right


def test_a_claim_on_a_healthy_run_is_counted():
    true = truth() | {"faults": []}
    assert figures(perfect(truth()), true)["healthy_findings"] == 1


@pytest.mark.parametrize(("error", "close"), [(0.02, 1.0), (0.03, 0.0), (None, None)])
def test_a_replay_of_slow_steps_is_close_to_usual_ones(error, close):
    report = perfect(truth())
    report["findings"] = [{**one, "evidence": {"counterfactual_error": error}} for one in report["findings"]]
    assert figures(report, truth())["replays_close"] == close


def test_a_throttled_uplink_is_the_switch_or_one_of_its_links():
    true = truth()
    true["faults"] = [{"kind": "uplink_throttle", "switch": "leaf1", "job": "A", "start_ns": 2 * S, "end_ns": 4 * S}]
    for ids, subject, found in (
        (["leaf1"], "switch", 1),
        (["leaf1", "spine0"], "link", 1),
        (["leaf0"], "switch", 0),
        (["leaf1", "leaf0"], "switch", 0),
    ):
        report = perfect(true) | {"findings": [finding(ids, "slow_switch", subject)]}
        assert figures(report, true)["faults_recall"] == found


def test_either_a_or_b_is_in_the_set_and_not_exact():
    report = perfect(truth())
    report["jobs"][0] |= {"parallelism": {"dp": 4}, "confidence": 0.95, "alternatives": [{"dp": 2, "pp": 2}]}
    made = figures(report)
    assert (made["layout_exact"], made["layout_set"]) == (0, 1)
    assert (made["layouts_sure"], made["layouts_sure_right"]) == (1, 0)
    report["jobs"][0]["alternatives"] = [{"dp": 4}] * 3 + [{"dp": 2, "pp": 2}]
    assert figures(report)["layout_set"] == 0


def test_a_layout_whose_product_is_not_the_number_of_ranks():
    report = perfect(truth())
    report["jobs"][0]["parallelism"]["pp"] = 4
    assert figures(report)["layout_product_wrong"] == 1


def test_an_imbalance_is_found_by_its_name():
    true = truth()
    true["faults"][0]["kind"] = "stage_imbalance"
    for kind, subject, ids, found in (
        ("stage_imbalance", "job", ["10.0.0.0", "10.0.0.1"], 1),
        ("stage_imbalance", "endpoint", ["10.0.0.0"], 0),
        ("slow_rank", "endpoint", ["10.0.0.1"], 0),
    ):
        assert figures(perfect(true) | {"findings": [finding(ids, kind, subject)]}, true)["faults_found"] == found


def spoilt(report, seed):
    rng = random.Random(seed)
    job = report["jobs"][0]
    job["confidence"] = rng.random()
    job["parallelism"]["dp"] = rng.choice([2, 4])
    job["alternatives"] = [{"dp": rng.choice([1, 2]), "pp": 2, "tp": 1} for _ in range(rng.randrange(6))]
    if rng.random() < 0.3:
        job["endpoints"] = job["endpoints"][:3]
    for item in job["groups"] + job["pairs"]:
        item["kind"] = rng.choice(["dp", "pp", "tp", "cp", item["kind"]])
    for rank in job["ranks"]:
        rank["steps"] = [[a, b + int(rng.gauss(0, S / 8))] for a, b in rank["steps"] if rng.random() < 0.9]
    people = [["10.0.0.1"], ["10.0.0.2"], ["server1"], ["10.0.0.1", "10.0.0.3"], ["leaf1"], []]
    for _ in range(rng.randrange(4)):
        kind, subject = rng.choice(["slow_rank", "slow_group", "hang"]), rng.choice(["endpoint", "link"])
        severity, start, end = rng.choice(["info", "warning"]), rng.randrange(3 * S), rng.randrange(8 * S)
        claim = finding(rng.choice(people), kind, subject, severity, start, end)
        report["findings"].append(claim | {"score": rng.random()})
    return report


@pytest.mark.parametrize("other", [*Path(__file__).parents[3].glob("shared/score/score.py")])
def test_a_second_implementation_of_the_figures_agrees(other):
    spec = importlib.util.spec_from_file_location("other_score", other)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for seed in range(50):
        report = spoilt(perfect(truth()), seed)
        theirs, ours = module.score(report, truth()), figures(report)
        both = theirs.keys() & ours.keys()
        assert len(both) >= 24
        assert {name: ours[name] for name in both} == {name: theirs[name] for name in both}


def test_pooling_adds_counts():
    one, two = compare(perfect(truth()), truth()), compare({"jobs": [], "findings": []}, truth())
    pooled = (one + two).figures()
    assert pooled["jobs_exact"] == 0.5
    assert pooled["steps_recall"] == 0.5
    assert pooled["step_error_mean"] == 0.5
    assert one + Counts() == one
