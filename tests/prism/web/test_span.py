"""The time machine and comparisons in a real browser."""

import re

import pytest

from tests.prism.web.page_scripts import job_of

expect = pytest.importorskip("playwright.sync_api").expect


def test_a_stretch_is_chosen_diagnosed_again_and_kept_in_the_address(shown, opened):
    page = opened(shown.url)
    page.get_by_title("Time that is shown").click()
    source = shown.first.source
    page.select_option("#span-zone", "utc")
    page.fill("#span-from", "2026-11-20T22:42:20")
    page.fill("#span-to", "2026-11-20T22:43:00")
    page.get_by_role("button", name="Diagnose this time").click()
    expect(page.locator("h1")).to_have_text("1 job on 8 endpoints", timeout=300_000)
    page.wait_for_function("() => location.hash.includes('replay=')", timeout=300_000)
    assert re.search(r"from=1795214540000000000&to=1795214580000000000&replay=[0-9a-f]{16}", page.url), page.url
    expect(page.locator(".notices")).to_contain_text("diagnosed again")
    page.locator("#jobs tbody a").first.click()
    expect(page.locator("h1")).to_contain_text("Job")
    assert "from=1795214540000000000" in page.url
    expect(page.get_by_title("Time that is shown")).to_contain_text("22:42:20")
    again = opened(re.sub(r"&?replay=[0-9a-f]{16}", "", page.url))  # who opens the link later
    expect(again.locator("h1")).to_contain_text("Job", timeout=300_000)
    assert source.start_ns


def test_a_time_without_records_says_so(shown, opened):
    page = opened(f"{shown.url}", allowed="404")
    page.evaluate("location.hash = '#/?from=1000000000000000000&to=1000000001000000000'")
    expect(page.locator("main [role=alert]")).to_contain_text("no flow records of this time are kept")
    page.get_by_role("link", name="Back to live").click()
    expect(page.locator("h1")).to_have_text("1 job on 8 endpoints")


def test_a_dialog_refuses_an_end_before_the_start(shown, opened):
    page = opened(shown.url)
    page.get_by_title("Time that is shown").click()
    page.fill("#span-from", "2026-11-20T22:43:00")
    page.fill("#span-to", "2026-11-20T22:42:00")
    page.get_by_role("button", name="Diagnose this time").click()
    expect(page.locator("dialog.span [role=alert]")).to_contain_text("The end must be after the start.")
    page.keyboard.press("Escape")
    expect(page.locator("dialog.span")).to_be_hidden()


def test_a_job_is_compared_with_itself(shown, opened):
    id_ = job_of(shown)
    page = opened(f"{shown.url}#/jobs/{id_}")
    page.get_by_role("link", name="Compare").click()
    expect(page.locator("#changes")).to_contain_text("step time, median")
    expect(page.locator("#changes")).to_contain_text("1.00 ×")
    expect(page.locator("#changed-ranks tbody tr")).to_have_count(8)


def test_times_are_shown_in_the_zone_of_the_reader(shown, opened):
    page = opened(f"{shown.url}#/findings", timezone_id="Asia/Tokyo")
    expect(page.locator("header.title .note")).to_contain_text("2026-11-21 07:42:53 +09:00")
