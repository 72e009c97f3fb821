import pytest

from benchmarks.reliability import Said, area, curve, statements, table


def test_confidence_is_held_against_what_was_right():
    said = [Said("layout", 0.98, True)] * 3 + [Said("layout", 0.98, False), Said("claim", 0.6, False)]
    rows = table(said).splitlines()
    assert rows[-2].split()[-6:] == ["4", "0.98", "0.75", "0", "-", "-"]
    assert rows[2].split()[-3:] == ["1", "0.60", "0.00"]


def test_layouts_and_claims_of_a_report():
    truth = {
        "hosts": {},
        "jobs": {
            "A": {
                "mode": "ddp",
                "layout": {"dp": 2},
                "groups": {"dp": [[0, 1]]},
                "ranks": [{"rank": r, "ip": f"10.0.0.{r}", "server": r} for r in range(2)],
                "steps": {str(r): [[i, i * 10, i * 10 + 10] for i in range(3)] for r in range(2)},
            }
        },
        "faults": [],
    }
    job = {
        "endpoints": ["10.0.0.0", "10.0.0.1"],
        "parallelism": {"dp": 2, "pp": 1, "tp": 1, "ep": 1, "cp": 1},
        "confidence": 0.9,
    }
    claim = {"severity": "warning", "confidence": 0.7, "subject": {"type": "endpoint", "ids": ["10.0.0.1"]}}
    report = {"jobs": [job], "findings": [{**claim, "start_ns": 0, "end_ns": 9}]}
    assert statements(report, truth) == [Said("layout", 0.9, True), Said("claim", 0.7, False)]


def test_risk_and_coverage_of_layouts():
    said = [Said("layout", 0.95, True), Said("layout", 0.9, False), Said("layout", 0.5, True), Said("claim", 0.99, False)]
    assert curve(said, 4, [0.99, 0.95, 0.9, 0.0]) == [
        (0.99, 0.0, None),
        (0.95, 0.25, 0.0),
        (0.9, 0.5, 0.5),
        (0.0, 0.75, pytest.approx(1 / 3)),
    ]
    assert area(said) == pytest.approx((0 + 1 / 2 + 1 / 3) / 3)
    assert area([]) is None
    assert curve([], 0, [0.9]) == [(0.9, 0.0, None)]
