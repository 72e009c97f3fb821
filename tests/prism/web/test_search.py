"""The search box, places, and names of schedulers, in a real browser."""

from dataclasses import replace

import pytest

from prism.api.server.web_server import served
from prism.inventory.bookings import Booking
from prism.service.service_settings import Service
from prism.tracking.board import Boards
from tests.prism.web.conftest import GENEROUS

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
def named(slow_rank):
    """The recorded run as a scheduler names it."""
    board, records = slow_rank
    booking = Booking("4711", "llama-70b", "ada", "gpu", board.topology.hosts(), source="slurm")
    board = replace(board, bookings={board.jobs[0].id: booking})
    with served(Service(Boards(board), records, "live", limits=GENEROUS)) as port:
        yield f"http://127.0.0.1:{port}/", board


def test_a_job_carries_the_name_user_and_queue_of_its_scheduler(named, opened):
    url, board = named
    page = opened(url)
    expect(page.locator("#jobs tbody tr")).to_contain_text("llama-70b")
    expect(page.locator("#jobs tbody tr")).to_contain_text("ada in gpu")
    page.fill("#filter", "ada")
    expect(page.locator("#jobs tbody tr")).to_have_count(1)
    page.fill("#filter", "bob")
    expect(page.locator("#jobs tbody tr")).to_have_count(0)
    page = opened(f"{url}#/jobs/{board.jobs[0].id}")
    expect(page.locator("h1")).to_contain_text("llama-70b")
    expect(page.locator(".facts").first).to_contain_text("slurm 4711")


def test_everything_is_found_by_one_box_and_the_keyboard(named, opened):
    page = opened(named[0])
    page.keyboard.press("Control+k")
    box = page.locator("#search")
    expect(box).to_be_focused()
    page.keyboard.type("server5")
    expect(page.locator("#found li").first).to_contain_text("host")
    expect(box).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    expect(box).to_have_attribute("aria-activedescendant", "found-0")
    expect(page.locator("#found-0")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("server5")
    expect(page.locator("#jobs-here")).to_contain_text("llama-70b")
    expect(page.locator("#claims .claim")).to_contain_text("Slow rank")
    expect(page.locator("#found")).to_be_hidden()


@pytest.mark.parametrize(
    ("text", "leads"),
    [
        ("llama", "#/jobs/"),
        ("leaf1", "#/places/switch/leaf1"),
        ("10.10.5.1", "#/places/endpoint/10.10.5.1"),
        ("ada", "#/?filter=ada"),
    ],
)
def test_each_kind_of_name_leads_to_its_page(named, opened, text, leads):
    page = opened(named[0])
    page.fill("#search", text)
    expect(page.locator("#found a").first).to_be_visible()
    page.locator("#found a").first.click()
    page.wait_for_function("leads => location.hash.startsWith(leads)", arg=leads)


def test_what_nobody_is_called_is_reported_and_escape_closes(named, opened):
    page = opened(named[0])
    page.fill("#search", "nobody at all")
    expect(page.locator("#found")).to_contain_text("Nothing has such a name.")
    page.press("#search", "Escape")
    expect(page.locator("#found")).to_be_hidden()
    page = opened(f"{named[0]}#/places/host/nobody")
    expect(page.locator(".empty")).to_contain_text("No host is called nobody")
