"""The pages in a real browser, with a recorded run behind them."""

import re
from dataclasses import replace

import pytest

from benchmarks.boards import board
from prism.alerts.alert_labels import finding_page
from prism.api.server.web_server import served
from prism.model import Severity
from prism.service.service_settings import Service
from prism.service.tokens import Tokens
from prism.tracking.board import Board, Boards, Gap
from prism.tracking.outages import without_gaps
from tests.prism.views.test_usual_step_times import FAST, RANKS, SLOW, job
from tests.prism.web.conftest import GENEROUS, PCAPS, Shown

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=20_000)

# Colours of a canvas; a drawing has several.
COLOURS = """canvas => {
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let at = 0; at < data.length; at += 4) seen.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
  return seen.size;
}"""
# What has no accessible name, or can be scrolled to beside the screen.
NAMELESS = """() => [...document.querySelectorAll("button, input, select, canvas, a, svg[role=img], [role=button]")]
  .filter(one => !(one.textContent.trim() || one.ariaLabel || one.labels?.length || one.closest("label")
                   || one.getAttribute("aria-hidden")))
  .map(one => one.outerHTML)"""
# The colour of a heat strip at a share of its width, right of the names of ranks.
COLOUR_AT = """(canvas, share) => {
  const context = canvas.getContext("2d"), scale = canvas.width / canvas.clientWidth;
  const left = canvas.clientWidth < 520 ? 62 : 140, wide = canvas.clientWidth - left - 10;
  return [...context.getImageData(Math.round((left + share * wide) * scale), Math.round(canvas.height / 2), 1, 1).data];
}"""
# Once the page has heard of a board, and had the time to fetch and draw it: three looks of keep.js.
DRAWN_LATER = """async revision => {
  while ((await (await fetch("api/v1/board")).json()).revision < revision);
  await new Promise(go => setTimeout(go, 150 + 3 * 200));
  return true;
}"""
WIDE = "() => document.scrollingElement.scrollWidth - document.documentElement.clientWidth"


def job_of(shown: Shown) -> str:
    return shown.first.jobs[0].id


def case_of(shown: Shown) -> str:
    return shown.first.cases[0].id


def go(page, to: str) -> None:
    """To another page, as a link would, until all of it is there."""
    before = page.locator("main").get_attribute("data-ready")
    page.evaluate("to => { location.hash = to; }", to)
    page.wait_for_function("before => document.querySelector('main').dataset.ready !== before", arg=before)


def test_the_overview_says_who_trains_and_what_was_found(shown, opened):
    page = opened(shown.url)
    expect(page.locator("h1")).to_have_text("1 job on 8 endpoints")
    row = page.locator("#jobs tbody tr")
    expect(row).to_have_count(1)
    for text in (job_of(shown), "DP 2 × PP 4", "98", "1.48 s", "26 GPU-s", "▲ 1"):
        expect(row).to_contain_text(text)
    expect(row.locator(".spark polyline")).to_have_count(1)
    expect(page.locator("#newest .claim")).to_contain_text("own work before its transfers takes 646 ms")
    assert page.locator("#fabric canvas").evaluate(COLOURS) > 3
    assert page.evaluate(NAMELESS) == []


def test_a_job_is_drawn_and_its_culprit_named(shown, opened):
    page = opened(f"{shown.url}#/jobs/{job_of(shown)}")
    expect(page).to_have_title(f"Job {job_of(shown)} · Prism")
    for place in ("#steps", "#timeline", "#leaves"):
        for canvas in page.locator(f"{place} .drawing > canvas").all():
            assert canvas.evaluate(COLOURS) > 5, place
    expect(page.locator("#steps canvas").nth(1)).to_have_attribute("aria-label", re.compile("Slow rank 10.10.5.1"))
    expect(page.locator("#graph path")).to_have_count(20)
    expect(page.locator("#graph text.warning")).to_have_text("▲ r5")
    expect(page.locator("#layout tbody tr").first).to_contain_text("traffic")
    expect(page.locator("#ranks tr.marked")).to_contain_text("server5")
    assert page.evaluate(NAMELESS) == []


def test_a_job_lists_open_findings_before_closed_ones(shown, opened):
    first = shown.first
    closed = replace(first.cases[0], id="c105ed", state="closed", closed_ns=first.cases[0].updated_ns)
    shown.publish(cases=(closed, *first.cases))
    try:
        page = opened(f"{shown.url}#/jobs/{job_of(shown)}")
        expect(page.locator("#claims .claim").first).to_contain_text("open")
        expect(page.locator("#claims .claim").last).to_contain_text("closed")
    finally:
        shown.publish(cases=first.cases)


def test_what_is_chosen_on_a_job_is_in_its_address(shown, opened):
    page = opened(f"{shown.url}#/jobs/{job_of(shown)}")
    page.select_option("#measure", "work")
    expect(page.locator("#steps .key")).to_contain_text("ms")
    strip = page.locator("#steps canvas").first
    box = strip.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.45, box["y"] + 60, steps=4)
    page.mouse.up()
    page.wait_for_function("() => location.hash.includes('measure=work') && location.hash.includes('steps=')")
    chosen = re.search(r"steps=(\d+):(\d+)", page.url)
    assert 0 < int(chosen[1]) < int(chosen[2]) < 10
    again = opened(page.url)
    expect(again.locator("#measure")).to_have_value("work")
    assert chosen[0] in again.url


def test_the_timeline_zooms_by_key_and_button(shown, opened):
    page = opened(f"{shown.url}#/jobs/{job_of(shown)}")
    asked = []
    page.on("request", lambda request: "/timeline?" in request.url and asked.append(request.url))
    page.locator("#timeline .timeline").focus()
    with page.expect_response(re.compile("/timeline")):
        page.keyboard.press("+")
    page.wait_for_function("() => location.hash.includes('view=')")
    with page.expect_response(re.compile("/timeline")):
        page.get_by_role("button", name="Zoom out").click()
    with page.expect_response(re.compile("level=spans")):
        page.select_option("#level", "spans")
    page.wait_for_function("() => location.hash.includes('level=spans')")
    again = opened(page.url)
    expect(again.locator("#level")).to_have_value("spans")
    assert len({re.search(r"start_ns=(\d+)", url)[1] for url in asked}) > 1


def test_the_link_in_an_alert_opens_the_finding(shown, opened):
    page = opened(finding_page(shown.url, case_of(shown)))
    expect(page.locator("h1")).to_contain_text("10.10.5.1")
    expect(page.locator("#evidence")).to_be_visible()


def test_a_finding_says_who_since_when_and_what_to_do(shown, opened):
    page = opened(f"{shown.url}#/findings/{case_of(shown)}")
    expect(page.locator("h1")).to_have_text("Slow rank 10.10.5.1 (server5)")
    facts = page.locator(".facts").first
    for text in ("endpoint 10.10.5.1", "1.28 ×", "26 GPU-s", "sure"):
        expect(facts).to_contain_text(text)
    expect(page.locator("#suspects li").first).to_contain_text("server5")
    expect(page.locator("#advice li").first).to_contain_text("Isolate server5 first")
    expect(page.locator("#pictures canvas:not(.ramp)")).to_have_count(3)
    expect(page.locator("#evidence")).to_contain_text("646 ms")
    expect(page.locator("#compared tbody tr").first).to_contain_text("10.10.5.1")
    page.get_by_role("button", name="Copy link").click()  # where nothing may be copied, the link is shown
    page.wait_for_function(
        "() => { const share = document.querySelector('.share');"
        " return share.textContent === 'Copied' || share.querySelector('input')?.value === location.href; }"
    )
    assert page.evaluate(NAMELESS) == []


def test_findings_are_filtered_by_the_address(shown, opened):
    page = opened(f"{shown.url}#/findings?severity=critical")
    expect(page.locator(".empty")).to_have_text("No finding fits the filters.")
    page.select_option("#pick-severity", "")
    expect(page.locator(".claim")).to_have_count(1)
    page.fill("#filter", "no such words")
    expect(page.locator(".claim")).to_have_count(0)
    assert "filter=no+such+words" in page.url


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


def test_what_is_not_there_is_said(shown, opened):
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


def test_a_gap_in_collection_is_hatched_and_named(slow_rank, opened):
    board, records = slow_rank
    (job,) = board.jobs
    begin, end = job.found.timeline.steps[0][8].tolist()
    gap = Gap(begin + (end - begin) // 4, end - (end - begin) // 4)
    line = without_gaps(job.found.timeline, [(gap.begin_ns, gap.end_ns)], float(end - begin))
    jobs = (replace(job, found=replace(job.found, timeline=line)),)
    made = Board(**(vars(board) | {"jobs": jobs, "gaps": (gap,)}))
    with served(Service(Boards(made), records, "live", limits=GENEROUS)) as port:
        page = opened(f"http://127.0.0.1:{port}/#/jobs/{job.id}?steps=8:8")
        for place in ("#steps", "#timeline"):
            canvas = page.locator(f"{place} .drawing > canvas").first
            expect(canvas).to_have_attribute("aria-label", re.compile("Prism was not running"))
        canvas = page.locator("#steps .drawing > canvas").first
        box, many = canvas.bounding_box(), len(line.steps[0])
        left = 140 + (8.5 / many) * (box["width"] - 150)
        canvas.hover(position={"x": left, "y": 60})
        tip = page.locator("#steps .tip:visible")
        expect(tip).to_contain_text("not seen whole")
        expect(tip).to_contain_text("Prism was not running")
        go(page, "#/health")
        expect(page.locator("#gaps tbody tr")).to_contain_text("Prism was not running")


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


def test_what_is_unsure_is_said(slow_rank, opened):
    board, records = slow_rank
    (job,), (case,) = board.jobs, board.cases
    layout = replace(job.found.parallelism.layout, confidence=0.6)
    found = replace(job.found, parallelism=replace(job.found.parallelism, layout=layout))
    weak = replace(case, finding=replace(case.finding, confidence=0.35))
    made = Board(**(vars(board) | {"jobs": (replace(job, found=found),), "cases": (weak,)}))
    with served(Service(Boards(made), records, "live", limits=GENEROUS)) as port:
        page = opened(f"http://127.0.0.1:{port}/")
        expect(page.locator("#jobs tbody tr")).to_contain_text("unsure")
        expect(page.locator("#newest .claim")).to_contain_text("a guess")
        go(page, f"#/findings/{weak.id}")
        expect(page.locator(".facts").first).to_contain_text("look before you act")
        expect(page.locator("#advice li").first).to_contain_text("35%")


def test_nothing_yet(opened):
    with served(Service(Boards(), limits=GENEROUS)) as port:
        page = opened(f"http://127.0.0.1:{port}/")
        expect(page.locator("#jobs .empty")).to_contain_text("No data yet")
        for to in ("#/findings", "#/switches", "#/health", "#/replay"):
            go(page, to)
            expect(page.locator(".empty").first).to_be_visible()


def test_a_service_with_tokens_asks_for_one(slow_rank, opened, tmp_path):
    tokens = Tokens(tmp_path / "tokens.json")
    secret = tokens.create("me", "read")
    with served(Service(Boards(slow_rank[0]), slow_rank[1], "live", tokens=tokens, limits=GENEROUS)) as port:
        page = opened(f"http://127.0.0.1:{port}/#/findings", allowed="401", locale="en")
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


def test_a_job_of_many_ranks_stays_light(opened):
    made = board(4000, 60)
    with served(Service(Boards(made), None, "live", limits=GENEROUS)) as port:
        sizes = []
        page = opened(f"http://127.0.0.1:{port}/")
        page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
        go(page, f"#/jobs/{made.jobs[0].id}")
        expect(page.locator("#timeline .note").last).to_contain_text("4\u202f000 ranks: the height of a colour is the share")
        page.select_option("#level", "phases")
        expect(page.locator("#timeline .pager")).to_be_visible()
        expect(page.locator("#timeline .note").last).to_contain_text("of 4\u202f000")
        expect(page.locator("#ranks summary")).to_have_text("4\u202f000 ranks")
        expect(page.locator("#steps")).to_contain_text("A cell is the slowest")
        assert sum(sizes) < 5e6
        label = page.locator("#steps .drawing > canvas").nth(1).get_attribute("aria-label")
        culprit = made.cases[0].finding.ids[0]
        assert culprit in label
        page.locator("#ranks summary").click()  # the names of so many come when somebody looks
        expect(page.locator("#ranks tr.marked")).to_contain_text(culprit)
        go(page, f"#/findings/{made.cases[0].id}")
        expect(page.locator("#pictures canvas:not(.ramp)")).to_have_count(3)
        assert culprit in page.locator("#pictures .drawing > canvas").nth(1).get_attribute("aria-label")
        assert sum(sizes) < 5e6


def test_the_overview_keeps_findings_that_closed(shown, opened):
    first = shown.first
    closed = tuple(replace(one, state="closed", closed_ns=one.updated_ns) for one in first.cases)
    shown.publish(cases=closed)
    try:
        page = opened(shown.url)
        expect(page.locator("#newest .claim.closed")).to_have_count(min(20, len(closed)))
        expect(page.locator("#newest")).to_contain_text("lasted")
        for place in ("#newest", "header.title"):
            expect(page.locator(place)).to_contain_text("No fault is open.")
        expect(page.locator("main")).not_to_contain_text("o fault found")
        shown.publish(cases=())
        for place in ("#newest", "header.title"):
            expect(page.locator(place)).to_contain_text("No fault found.")
        shown.publish(cases=(), jobs=tuple(replace(job, state="silent") for job in first.jobs))
        for place in ("#newest", "header.title"):
            expect(page.locator(place)).to_contain_text("No job sends anything now")
        expect(page.locator("main")).not_to_contain_text("o fault found")
        shown.publish(cases=(), jobs=())
        expect(page.locator("#newest")).to_contain_text("No job was analysed")
        expect(page.locator("main")).not_to_contain_text("o fault found")
    finally:
        shown.publish(cases=first.cases, jobs=first.jobs)


def test_the_overview_shows_the_worst_open_findings_and_how_many_more(shown, opened):
    first = shown.first
    one = first.cases[0]
    severities = [Severity.INFO] * 8 + [Severity.WARNING] * 2 + [Severity.CRITICAL]
    some = tuple(
        replace(one, id=f"o{i}", finding=replace(one.finding, severity=severity, start_ns=one.finding.start_ns - i))
        for i, severity in enumerate(severities)
    )
    shown.publish(cases=some)
    try:
        page = opened(shown.url)
        expect(page.locator("#newest .claim")).to_have_count(8)
        ids = page.locator("#newest .claim > a").evaluate_all("all => all.map(one => one.hash.split('/').at(-1))")
        assert ids == ["o10", "o8", "o9", "o0", "o1", "o2", "o3", "o4"]
        page.get_by_role("link", name="3 more open").click()
        expect(page.locator(".claim")).to_have_count(11)
    finally:
        shown.publish(cases=first.cases, jobs=first.jobs)


def test_findings_that_closed_are_in_order_of_when_they_did(shown, opened):
    first = shown.first
    one = first.cases[0]
    over = [
        replace(
            one, id=f"c{i}", state="closed", closed_ns=one.updated_ns + i, finding=replace(one.finding, start_ns=10**18 - i)
        )
        for i in range(25)
    ]
    shown.publish(cases=tuple(over))
    try:
        page = opened(shown.url)
        expect(page.locator("#newest .claim.closed")).to_have_count(20)
        shown_ids = page.locator("#newest .claim.closed > a").evaluate_all("all => all.map(one => one.hash.split('/').at(-1))")
        assert shown_ids == [f"c{i}" for i in range(24, 4, -1)]
    finally:
        shown.publish(cases=first.cases, jobs=first.jobs)


def test_a_fault_moves_neither_the_usual_time_nor_the_colours(opened):
    """The same with few slow steps and with four fifths of them: the text under the heat, and the colour of a usual step."""
    seen = []
    for slow in (5, 40):
        found, case = job([FAST] * 10 + [SLOW] * slow)
        first = board(RANKS, 4, stages=2)
        made = replace(first, jobs=(replace(first.jobs[0], found=found),), cases=(case,))
        with served(Service(Boards(made), None, "live", limits=GENEROUS)) as port:
            page = opened(f"http://127.0.0.1:{port}/#/jobs/{found.job.id}")
            expect(page.locator("#steps .key")).to_contain_text("usual 1.00 s")
            seen.append(page.locator("#steps .drawing > canvas").nth(1).evaluate(COLOUR_AT, 5 / (10 + slow)))
            go(page, f"#/findings/{case.id}")
            expect(page.locator("#pictures .key")).to_contain_text("usual 1.00 s")
            page.close()
    assert seen[0] == seen[1]


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


def test_steps_are_chosen_by_keys(shown, opened):
    page = opened(f"{shown.url}#/jobs/{job_of(shown)}")
    page.locator("#steps [role=group]").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => /steps=(\\d+):\\1(&|$)/.test(location.hash)")
    one = int(re.search(r"steps=(\d+)", page.url)[1])
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_function("want => location.hash.includes(want)", arg=f"steps={one}:{one + 1}")
    page.keyboard.press("?")
    expect(page.locator("dialog.help[open]")).to_contain_text("Choose fewer or more steps")
