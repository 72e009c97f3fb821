"""The title of a finding on every page, in the HTML report, and in the name of the browser's tab."""

import pytest

from prism.api.server.web_server import served
from prism.findings.titles import title
from prism.service.service_settings import Service
from prism.topology import Endpoint, Topology
from prism.tracking.board import Boards, board_of
from prism.views import html_report
from tests.prism.web.conftest import GENEROUS

TOPOLOGY = Topology({f"10.10.{i}.1": Endpoint(f"server{i}", 0, f"leaf{i // 4}") for i in range(8)}, (("leaf1", "spine0"),))


@pytest.fixture
def found(diagnosis):
    board = board_of(diagnosis, TOPOLOGY)
    return board, board.cases[0].id, title(board.cases[0].finding, TOPOLOGY)


def test_pages_and_the_html_report_show_the_title(opened, found, tmp_path):
    board, name, words = found
    (tmp_path / "a.html").write_text(html_report.dumps(board))
    with served(Service(Boards(board), None, "live", limits=GENEROUS)) as port:
        for path, where in (("#/", ".claim strong"), ("#/findings", ".claim strong"), (f"#/findings/{name}", "h1")):
            seen = opened(f"http://127.0.0.1:{port}/{path}")
            seen.locator(where, has_text=words).first.wait_for()
        assert words in seen.title()
    report = opened((tmp_path / "a.html").as_uri())
    report.locator(".claim strong", has_text=words).first.wait_for()
