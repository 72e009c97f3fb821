from prism.api.schemas.grafana_annotations import annotated
from tests.prism.alerts.stories import NOW, TOPOLOGY, S, case, finding

CASES = [case(), case("c2", finding(job="job2", start=NOW - 900 * S)), case("c3", finding(severity="info"))]


def test_findings_of_a_time_in_grafana_s_columns():
    [one] = annotated(CASES, NOW - 100 * S, NOW, topology=TOPOLOGY, external_url="https://prism.example")
    assert (one["time"], one["timeEnd"]) == ((NOW - 60 * S) // 10**6, (NOW - 10 * S) // 10**6)
    assert one["title"] == "Slow rank 10.0.5.1 (server5)"
    assert one["text"].endswith("https://prism.example/#/findings/c1")
    assert one["tags"] == "warning,slow_rank,job1"


def test_all_times_and_some_jobs():
    assert [one["id"] for one in annotated(CASES, 0, NOW)] == ["c2", "c1"]
    assert [one["id"] for one in annotated(CASES, 0, NOW, jobs={"job2"})] == ["c2"]
    assert annotated(CASES, NOW, NOW + S) == []
