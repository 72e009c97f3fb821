"""The one-file report in a real browser, opened as a file: nothing is asked of anybody."""

from dataclasses import replace

import pytest

from prism.tracking.board import Board
from prism.views import html_report

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
def report(slow_rank, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html_report.dumps(*slow_rank), "utf-8")
    return path.as_uri()


def test_a_report_shows_the_pages_without_a_service(report, opened):
    asked = []
    one = opened(report)
    one.on("request", lambda request: asked.append(request.url))
    expect(one.locator("#jobs tbody tr")).to_contain_text("DP 2 × PP 4")
    one.locator("#jobs tbody a").click()
    expect(one.locator("#timeline canvas")).to_be_visible()
    one.select_option("#measure", "work")
    expect(one.locator("#steps canvas:not(.ramp)")).to_have_count(2)
    one.locator("#claims .claim a").first.click()
    expect(one.locator("h1")).to_have_text("Slow rank 10.10.5.1 (server5)")
    expect(one.locator("#pictures canvas:not(.ramp)")).to_have_count(3)
    one.get_by_role("link", name="Switches").click()
    expect(one.locator("#links tbody tr")).to_have_count(4)
    assert asked == []


def test_a_report_is_linked_to_by_its_parts(report, slow_rank, opened):
    one = opened(f"{report}#/findings/{slow_rank[0].cases[0].id}")
    expect(one.locator("#advice li").first).to_contain_text("Isolate server5")


def test_names_in_a_report_are_text(slow_rank, tmp_path, opened):
    evil = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"
    board = slow_rank[0]
    case = board.cases[0]
    made = Board(**(vars(board) | {"cases": (replace(case, finding=replace(case.finding, message=evil)),)}))
    path = tmp_path / "evil.html"
    path.write_text(html_report.dumps(made), "utf-8")
    one = opened(path.as_uri())
    expect(one.locator(".claim .message")).to_have_text(evil)
    expect(one).to_have_title("Overview · Prism")
