"""Logs are given on the page of a finding; the incident has a page of its own."""

import re

import pytest

from prism.api.server.web_server import served
from prism.past.uploads import Bounds, Uploads
from prism.service.service_settings import Service
from prism.tracking.board import Boards
from tests.prism.api.routes.test_incidents import logs_of_the_hang
from tests.prism.web.conftest import GENEROUS, recorded

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=20_000)


def test_an_incident_is_made_of_logs_and_has_one_page(tmp_path, opened):
    board, records = recorded("hang")
    case = next(case for case in board.cases if case.finding.kind == "hang")
    files, guilty = logs_of_the_hang()
    with Uploads(tmp_path, Bounds(seconds=300)) as uploads:
        service = Service(Boards(board), records, "live", uploads=uploads, limits=GENEROUS)
        with served(service) as port:
            page = opened(f"http://127.0.0.1:{port}/#/findings/{case.id}")
            given = [{"name": name, "mimeType": kind, "buffer": text} for _, (name, text, kind) in files]
            page.set_input_files("#logs", [{**one, "name": one["name"].split("/")[-1]} for one in given])
            made = page.locator("#logs-here li a")
            expect(made).to_have_text(f"rank {guilty}: peer", timeout=120_000)
            made.click()
            expect(page.locator("h1")).to_have_text(f"rank {guilty}: peer")
            expect(page.locator("#silence tbody tr")).to_have_count(len(files))
            expect(page.locator("#silence tr.marked")).to_contain_text(f"10.10.{guilty}.1")
            expect(page.locator("#checks")).to_contain_text("ranks")
            expect(page.locator("#lines tbody tr").first).to_contain_text("Timed out waiting")
            page.get_by_role("link", name="What the flows show").click()
            expect(page.locator(".notices")).to_contain_text("not what runs now")
            assert re.search("replay=[0-9a-f]{16}", page.url)
            page.close()  # before the server stops: it would ask on
