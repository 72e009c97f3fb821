from benchmarks.fault_strength import Strength, strengths, table


def test_found_faults_are_counted_by_what_they_cost():
    faults = [Strength(None, True), Strength(0.99, False), Strength(1.15, False), Strength(1.2, True), Strength(7.0, False)]
    counts = {line[:18].strip(): tuple(map(int, line[18:].split())) for line in table(faults).splitlines()[1:]}
    assert counts == {
        "unknown, or stops": (1, 1),
        "1.0 … 1.1": (1, 0),
        "1.1 … 1.2": (1, 0),
        "1.2 … 1.5": (1, 1),
        "1.5 … 2.0": (0, 0),
        "2.0 and more": (1, 0),
    }


def test_the_slowdown_of_a_fault_is_that_of_the_simulator():
    ranks = [{"rank": rank, "ip": name, "host": name} for rank, name in enumerate("ab")]
    job = {
        "layout": {"dp": 2},
        "ranks": ranks,
        "steps": {"0": [[0, 0, 10], [1, 10, 20]]},
        "groups": {"dp": [[0, 1]]},
        "mode": "ddp",
    }
    fault = {"kind": "compute_slow", "job": "j", "ranks": [0], "start_ns": 0, "end_ns": 20}
    truth = {"jobs": {"j": job | {"mode": "ddp"}}, "hosts": {}, "faults": [fault, {**fault, "slowdown": 1.3}]}
    assert strengths({"jobs": [], "findings": []}, truth) == [Strength(None, False), Strength(1.3, False)]
