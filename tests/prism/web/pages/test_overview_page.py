"""The overview in a real browser, with a recorded run behind it."""

from dataclasses import replace

import pytest

from prism.api.server.web_server import served
from prism.model import Severity
from prism.service.service_settings import Service
from prism.tracking.board import Board, Boards
from tests.prism.web.conftest import GENEROUS
from tests.prism.web.page_scripts import COLOURS, NAMELESS, go, job_of

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=20_000)


def test_the_overview_says_who_trains_and_what_was_found(shown, opened):
    page = opened(shown.url)
    expect(page.locator("h1")).to_have_text("1 job on 8 endpoints")
    row = page.locator("#jobs tbody tr")
    expect(row).to_have_count(1)
    for text in (job_of(shown), "DP 2 × PP 4", "98", "1.48 s", "26 GPU-s", "▲ 1"):
        expect(row).to_contain_text(text)
    expect(row.locator(".spark polyline")).to_have_count(1)
    expect(page.locator("#newest .claim")).to_contain_text("own work before its transfers takes 587 ms")
    assert page.locator("#fabric canvas").evaluate(COLOURS) > 3
    assert page.evaluate(NAMELESS) == []


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


def test_nothing_yet(opened):
    with served(Service(Boards(), limits=GENEROUS)) as port:
        page = opened(f"http://127.0.0.1:{port}/")
        expect(page.locator("#jobs .empty")).to_contain_text("No data yet")
        for to in ("#/findings", "#/switches", "#/health", "#/replay"):
            go(page, to)
            expect(page.locator(".empty").first).to_be_visible()


def test_what_is_unsure_is_reported(slow_rank, opened):
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
