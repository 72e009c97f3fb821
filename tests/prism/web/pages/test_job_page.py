"""The page of a job in a real browser: step times, timeline, gaps, large jobs."""

import re
from dataclasses import replace

import pytest

from benchmarks.boards import board
from prism.api.server.web_server import served
from prism.service.service_settings import Service
from prism.tracking.board import Board, Boards, Gap
from prism.tracking.outages import without_gaps
from tests.prism.views.test_usual_step_times import FAST, RANKS, SLOW, job
from tests.prism.web.conftest import GENEROUS
from tests.prism.web.page_scripts import COLOUR_AT, COLOURS, NAMELESS, go, job_of

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=20_000)


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
