"""Findings in a real browser: the list, and the page of one finding."""

from dataclasses import replace

import pytest

from prism.alerts.alert_labels import finding_page
from tests.prism.web.page_scripts import NAMELESS, case_of

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=20_000)


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
    expect(page.locator("#evidence")).to_contain_text("587 ms")
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
