"""Bandwidth in a real browser: of places and jobs, and a culprit beside its peers."""

import pytest

from prism.api.serving import served
from prism.board import Boards
from prism.service import Service
from tests.prism.web.conftest import GENEROUS, recorded
from tests.prism.web.test_pages import COLOURS

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
def slow_nic():
    board, records = recorded("slow_nic")
    with served(Service(Boards(board), records, "live", limits=GENEROUS)) as port:
        yield f"http://127.0.0.1:{port}/", board


def test_a_finding_shows_its_culprit_beside_its_peers_and_usual(slow_nic, opened):
    url, board = slow_nic
    page = opened(f"{url}#/findings/{board.cases[0].id}")
    rates = page.locator("#rates")
    expect(rates.locator("dl")).to_contain_text("27")
    expect(rates).to_contain_text("median of its peers")
    expect(rates.locator("tbody tr").first).to_contain_text("10.10.3.1 → 10.10.2.1")
    assert rates.locator("canvas").evaluate(COLOURS) > 4
    expect(rates.locator("canvas")).to_have_attribute(
        "aria-label", "Gbit/s over time of Slow NIC 10.10.3.1 (server3) beside the median of its peers"
    )


@pytest.mark.parametrize(
    "where", ["places/host/server3", "places/switch/leaf0", "places/endpoint/10.10.3.1", "places/link/leaf0|spine0"]
)
def test_a_place_shows_what_it_moves(slow_nic, opened, where):
    page = opened(f"{slow_nic[0]}#/{where}")
    expect(page.locator("#rates tbody tr").first).to_contain_text("bit/s")
    canvas = page.locator("#rates canvas")
    assert canvas.evaluate(COLOURS) > 3
    canvas.hover()
    expect(page.locator("#rates .tip")).to_contain_text("Gbit/s")


def test_a_job_shows_the_ranks_that_send_most(slow_nic, opened):
    page = opened(f"{slow_nic[0]}#/jobs/{slow_nic[1].jobs[0].id}")
    expect(page.locator("#rates tbody tr")).to_have_count(8)


def test_a_service_without_records_says_so(slow_nic, opened):
    with served(Service(Boards(slow_nic[1]), None, "live", limits=GENEROUS)) as port:
        page = opened(f"http://127.0.0.1:{port}/#/jobs/{slow_nic[1].jobs[0].id}")
        expect(page.locator("#rates .empty")).to_have_text("This service keeps no flow records.")


def test_health_says_what_exporters_lack(slow_nic, opened):
    page = opened(f"{slow_nic[0]}#/health")
    expect(page.locator("#exporters tbody tr")).to_have_count(3)
    expect(page.locator("#exporters tbody tr").first).to_contain_text("leaf0")
