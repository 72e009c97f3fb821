import pytest

from benchmarks import pages
from benchmarks.boards import board
from prism.api.server.web_server import served
from prism.service.service_settings import Service
from prism.tracking.board import Boards
from tests.browsers import launched

pytest.importorskip("playwright.sync_api")


def test_what_a_page_costs():
    made = board(16, 8)
    ids = {"job": made.jobs[0].id, "case": made.cases[0].id}
    with served(Service(Boards(made))) as port, launched() as browser:
        place, *wanted = pages.PAGES["Finding"]
        seen = pages.visit(browser, f"http://127.0.0.1:{port}/{place.format(**ids)}", *wanted)
    assert set(pages.MEASURES) <= set(seen)
    assert seen["paint"] > 0
    assert 0 < seen["told"] <= seen["pictures"] <= seen["whole"]  # a frame's script looks before the frame is painted
    assert 10_000 < seen["octets"] < 5e6
    assert seen["requests"] > 20


def test_a_fresh_board_is_the_same_and_nothing_is_known_of_it():
    made = board(16, 8)
    fresh = pages.fresh(made)
    assert fresh.revision == made.revision + 1
    assert fresh.jobs[0].found.timeline is not made.jobs[0].found.timeline
    assert fresh.jobs[0].found.timeline.steps is made.jobs[0].found.timeline.steps
