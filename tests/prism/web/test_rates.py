"""Bandwidth in a real browser: of places and jobs, and a culprit beside its peers."""

import re

import numpy as np
import pytest

from collectors.columns.record import Flows
from prism.api.server.web_server import served
from prism.service.service_settings import Service
from prism.topology import Endpoint, Topology
from prism.tracking.board import Board, Boards, Window
from prism.tracking.flow_sources import Memory
from tests.prism.web.conftest import GENEROUS, recorded
from tests.prism.web.page_scripts import COLOURS

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
    assert rates.locator("canvas").first.evaluate(COLOURS) > 4
    expect(rates.locator("canvas").first).to_have_attribute(
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


def test_very_many_switches_are_shown_by_pods(opened):
    """256 leaves with 4,096 hosts, and traffic between all leaves of two spines."""
    many = 4096
    names = tuple(f"10.{i >> 8}.{i & 255}.1" for i in range(many))
    places = {name: Endpoint(f"server{i}", 0, f"leaf{i // 16}") for i, name in enumerate(names)}
    rows = np.arange(0, many, 8)
    far = (rows + 512) % many
    ways = [(f"leaf{a // 16}", "spine0", f"leaf{b // 16}") for a, b in zip(rows.tolist(), far.tolist(), strict=True)]
    paths = list(dict.fromkeys([(), *ways]))
    columns = {"start_ns": rows * 0 + 5, "end_ns": rows * 0 + 9, "src": rows, "dst": far, "octets": rows * 0 + 1000}
    flows = Flows.build({**columns, "path": [paths.index(way) for way in ways]}, endpoints=names, paths=tuple(paths))
    links = tuple((f"leaf{i}", "spine0") for i in range(256))
    shown = Board(1, 10, windows=(Window(0, 10, len(rows)),), topology=Topology(places, links))
    with served(Service(Boards(shown), Memory(flows), "live", limits=GENEROUS)) as port:
        page = opened(f"http://127.0.0.1:{port}/#/switches")
        expect(page.locator("#fabric")).to_contain_text("257 switches in 25 pods")
        canvas = page.locator("#fabric canvas")
        assert canvas.evaluate(COLOURS) > 3
        box = canvas.bounding_box()
        page.mouse.click(box["x"] + 0.25 * box["width"] + 6, box["y"] + 18 + 6)
        expect(page.locator("#fabric")).to_contain_text("All pods")
        long = page.get_by_role("region", name="Switches, 257 rows, scrolls")
        expect(long.locator("table")).to_have_attribute("aria-rowcount", "258")
        assert long.locator("tbody tr").count() < 70  # only those in sight
        long.evaluate("one => { one.scrollTop = one.scrollHeight; }")
        expect(long.get_by_role("link", name="spine0")).to_be_visible()
        expect(long.locator("tbody tr[aria-rowindex='258']")).to_have_count(1)
        page.fill("#filter", "leaf25")
        expect(page.locator("#switches tbody tr")).to_have_count(7)
        links = page.get_by_role("region", name=re.compile("Links, .* rows"))
        assert links.locator("tbody tr").count() < 70


def test_a_finding_shows_one_step_of_its_culprit_beside_a_healthy_peer(slow_nic, opened):
    page = opened(f"{slow_nic[0]}#/findings/{slow_nic[1].cases[0].id}")
    canvas = page.locator("#rates canvas[aria-label^='Step ']")
    expect(canvas).to_have_attribute("aria-label", re.compile("culprit 3  server3 sends 14 MB in .*; peer . +server"))
    assert canvas.evaluate(COLOURS) > 6
    canvas.hover(position={"x": 500, "y": 60})
    expect(page.locator("#rates .tip:visible")).to_contain_text("server3")
