import httpx
from prometheus_client.parser import text_string_to_metric_families

from collectors.clickhouse.store_error import StoreError
from collectors.store.retention import Status
from prism.api.schemas import service_schemas
from prism.api.server.web_server import served
from tests.prism.api.conftest import fits, make_service


def test_counters_of_all_parts_and_of_the_board(url):
    answer = httpx.get(f"{url}/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    found = {
        (s.name, *s.labels.values()): s.value for family in text_string_to_metric_families(answer.text) for s in family.samples
    }
    assert found["prism_collect_datagrams_total", "sflow"] == 7
    assert found["prism_findings_open", "critical"] == 1
    assert found["prism_jobs",] == 1


def test_health_in_words(api):
    health = api.get("/health").json()
    assert health["ok"] is True
    assert health["counters"] == [{"name": "prism_collect_datagrams", "labels": {"kind": "sflow"}, "value": 7.0}]
    assert health["parts"] == {"store": {"ok": True}}


def test_a_part_that_is_not_well_makes_the_service_not_ready_but_alive():
    service = make_service(health=lambda: {"store": {"ok": False, "why": "away"}, "spool": {"ok": True}})
    with served(service) as port:
        url = f"http://127.0.0.1:{port}"
        assert httpx.get(f"{url}/healthz").status_code == 200
        ready = httpx.get(f"{url}/readyz")
        assert (ready.status_code, ready.json()["detail"]) == (503, "not ready: store; GET /api/v1/health has the reason")
        assert httpx.get(f"{url}/api/v1/health").json()["ok"] is False


def test_what_the_store_holds():
    def away():
        raise StoreError("clickhouse://db/prism: away", transient=True)

    kept = Status("flows", 1, 7, 99, 2**60 + 1, 2**60 + 3, 604_800, 7)
    for store, status in ((None, 404), (away, 503), (lambda: [kept], 200)):
        with served(make_service(store=store)) as port:
            answer = httpx.get(f"http://127.0.0.1:{port}/api/v1/store")
        assert answer.status_code == status
    (table,) = answer.json()["tables"]
    assert (table["first_ns"], table["rows"], table["wrong"]) == (str(2**60 + 1), 7, "")
    fits(answer.content, service_schemas.Store)
