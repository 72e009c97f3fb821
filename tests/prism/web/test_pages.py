"""All pages in a real browser: keys, themes, live updates, tokens, policy, uploads."""

import re
from dataclasses import replace

import pytest

from prism.api.server.web_server import served
from prism.model import Severity
from prism.service.service_settings import Service
from prism.service.tokens import Tokens
from prism.tracking.board import Board, Boards
from tests.prism.web.conftest import GENEROUS, PCAPS, Shown
from tests.prism.web.page_scripts import WIDE, case_of, go, job_of

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=20_000)


def test_switches_links_and_hosts(shown, opened):
    page = opened(f"{shown.url}#/switches")
    expect(page.locator("#hosts tbody tr")).to_contain_text("server5")
    expect(page.locator("#switches tbody tr")).to_have_count(3)
    page.keyboard.press("/")
    page.keyboard.type("spine")
    expect(page.locator("#switches tbody tr")).to_have_count(1)


def test_health_says_what_is_not_well_and_what_was_lost(shown, opened):
    page = opened(f"{shown.url}#/health")
    expect(page.locator("#parts .verdict")).to_contain_text("Not all parts are well")
    expect(page.locator("#parts .part").nth(1)).to_contain_text("75.0 s")
    expect(page.locator("#losses tbody tr")).to_have_count(1)
    expect(page.locator("#losses")).to_contain_text("queue full")
    expect(page.locator("#skipped")).to_contain_text("acknowledgment only")


def test_keys(shown, opened):
    page = opened(shown.url)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(f"Job {job_of(shown)}")
    page.keyboard.press("g")
    page.keyboard.press("f")
    expect(page.locator("h1")).to_have_text("Findings")
    page.keyboard.press("/")
    expect(page.locator("#filter")).to_be_focused()
    page.keyboard.type("t")  # in a field a letter is a letter
    expect(page.locator("#filter")).to_have_value("t")


def test_dark_follows_the_system_until_somebody_chooses(shown, opened):
    page = opened(shown.url, color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 19, 23)"
    before = page.locator("#fabric canvas").evaluate("canvas => canvas.toDataURL()")
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    assert page.locator("#fabric canvas").evaluate("canvas => canvas.toDataURL()") != before
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_a_phone_scrolls_one_way_only(shown, opened):
    page = opened(shown.url, viewport={"width": 390, "height": 844}, has_touch=True)
    assert page.evaluate(WIDE) == 0
    for to in (f"#/jobs/{job_of(shown)}", f"#/findings/{case_of(shown)}", "#/findings", "#/switches", "#/replay", "#/health"):
        go(page, to)
        assert page.evaluate(WIDE) == 0, to


def test_what_is_not_there_is_reported(shown, opened):
    page = opened(f"{shown.url}#/jobs/nobody", allowed="404")
    expect(page.locator("main")).to_contain_text("Nothing is known under this address")
    go(page, "#/nowhere")
    expect(page.locator("main")).to_contain_text("There is no such page")


def test_a_new_board_arrives_by_itself_and_disturbs_nobody(slow_rank, opened):
    boards = Boards(slow_rank[0])
    with served(Service(boards, slow_rank[1], "live", limits=GENEROUS)) as port:
        shown = Shown(port, boards)
        page = opened(shown.url)
        page.locator("#filter").fill("d6")
        case = shown.first.cases[0]
        worse = replace(case, id="f00dfeed", finding=replace(case.finding, severity=Severity.CRITICAL, message="worse now"))
        shown.publish(cases=(worse, case))
        expect(page.locator(".claim.critical .message")).to_have_text("worse now")
        expect(page.locator("#filter")).to_be_focused()
        expect(page.locator("#filter")).to_have_value("d6")
        go(page, f"#/jobs/{job_of(shown)}?steps=3:5")
        expect(page.locator("#claims .claim")).to_have_count(2)
        shown.publish(cases=())
        expect(page.locator("#claims")).to_have_count(0)
        assert "steps=3:5" in page.url


def test_stale_lost_and_back(slow_rank, opened):
    boards = Boards(slow_rank[0])
    with served(Service(boards, slow_rank[1], "live", limits=GENEROUS)) as port:
        page = opened(f"http://127.0.0.1:{port}/", allowed="ERR_|503")  # it is gone, or says that it is going
        page.clock.install()
        page.reload()
        expect(page.locator(".status.fresh")).to_contain_text("live")
        page.clock.fast_forward(600_000)
        expect(page.locator(".notice.stale")).to_contain_text("Stale")
        page.clock.resume()
    expect(page.locator(".notice.lost")).to_contain_text("does not answer")
    expect(page.locator("#jobs tbody tr")).to_have_count(1)


def test_a_service_with_tokens_asks_for_one(slow_rank, opened, tmp_path):
    tokens = Tokens(tmp_path / "tokens.json")
    secret = tokens.create("me", "read")
    with served(Service(Boards(slow_rank[0]), slow_rank[1], "live", tokens=tokens, limits=GENEROUS)) as port:
        page = opened(f"http://127.0.0.1:{port}/#/findings", allowed="401|ERR_|503", locale="en")  # in the end it is gone
        page.fill("#token", "wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("does not know this token")
        page.fill("#token", secret)
        page.keyboard.press("Enter")
        expect(page.locator(".claim")).to_have_count(1)


def test_the_strictest_policy_is_enough(shown, usual):
    policy = "default-src 'self'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'"
    page, said = usual.new_page(), []
    page.on("console", lambda message: said.append(message.text))

    def stricter(route):
        answer = route.fetch()
        route.fulfill(response=answer, headers={**answer.headers, "content-security-policy": policy})

    page.route(shown.url, stricter)
    page.goto(f"{shown.url}#/findings/{case_of(shown)}")
    expect(page.locator("#pictures canvas:not(.ramp)")).to_have_count(3)
    assert said == []
    page.close()


def test_names_are_text_whatever_they_say(slow_rank, opened):
    board, _ = slow_rank
    evil = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
    case = board.cases[0]
    finding = replace(case.finding, message=evil, ids=(evil,))
    made = Board(**(vars(board) | {"cases": (replace(case, finding=finding),), "unexplained": (evil,)}))
    with served(Service(Boards(made), None, "replay", limits=GENEROUS)) as port:
        page = opened(f"http://127.0.0.1:{port}/")
        expect(page.locator(".claim .message")).to_have_text(evil)
        go(page, f"#/findings/{case.id}")
        expect(page.locator(".lead")).to_have_text(evil)
        assert page.locator("main img").count() == 0


def test_a_capture_is_uploaded_replayed_and_shown(shown, opened):
    page = opened(f"{shown.url}#/replay")
    files = [str(path) for path in sorted((PCAPS / "slow_rank").glob("*.pcap.gz"))]
    page.set_input_files("#files", [*files, str(PCAPS / "slow_rank" / "topology.json")])
    expect(page.locator(".files li")).to_have_count(4)
    with page.expect_response(re.compile("/api/v1/board$")) as asked:
        shown.publish()
    asked.value.finished()
    page.evaluate("() => new Promise(requestAnimationFrame)")
    expect(page.locator(".files li")).to_have_count(4)  # a new board takes nothing away
    page.click("#go")
    expect(page.locator(".run .state")).to_have_text("● done", timeout=600_000)
    page.get_by_role("link", name="Open its report").click()
    expect(page.locator(".notices")).to_contain_text("not what runs now")
    expect(page.locator("#jobs tbody tr")).to_contain_text("recorded")
    page.locator("#newest .claim a").first.click()
    expect(page.locator("h1")).to_have_text("Slow rank 10.10.5.1 (server5)")
    assert "replay=" in page.url


def test_a_pause_stops_live_updates_until_it_ends(shown, opened):
    first = shown.first
    page = opened(shown.url)
    page.keyboard.press("p")
    expect(page.locator(".notice.paused")).to_contain_text("Paused")
    row = page.locator("#jobs tbody tr").element_handle()
    try:
        shown.publish(cases=(), jobs=())
        expect(page.locator(".notice.paused")).to_contain_text("Newer results have come since")
        assert row.evaluate("one => one.isConnected")
        page.get_by_role("button", name="Resume live updates").click()
        expect(page.locator("#newest")).to_contain_text("No job was analysed")
        expect(page.locator(".notice.paused")).to_have_count(0)
    finally:
        shown.publish(cases=first.cases, jobs=first.jobs)
