"""Remarks, silences, actions and notifications in a real browser."""

import pytest

from prism.alerts.alert_settings import Hook, Secret
from prism.api.server.web_server import served
from prism.service.service_settings import Service
from prism.tracking.board import Boards
from tests.prism.alerts.stories import LOOPBACK, notification
from tests.prism.api.conftest import make_feedback
from tests.prism.receivers import listening
from tests.prism.web.conftest import GENEROUS

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=20_000)
SECRETS = (Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),)


@pytest.fixture
def closing(slow_rank, tmp_path):
    """A service with a hook and a notification, and what the hook hears."""
    board, records = slow_rank
    with listening() as heard:
        hooks = (Hook("drain", Secret(heard.url), SECRETS, "Drain the host", allow=LOOPBACK),)
        dead = notification(name="prism_8", state="dead", tries=9, error="HTTP 500: no")
        feedback = make_feedback(tmp_path, hooks=hooks, notifications=lambda _most: [dead])
        with served(Service(Boards(board), records, "live", limits=GENEROUS, feedback=feedback)) as port:
            yield f"http://127.0.0.1:{port}/", board.cases[0].id, heard, feedback
        feedback.desk.close()


def test_a_finding_is_acknowledged_marked_noted_and_silenced_on_its_page(closing, opened):
    url, case, _, feedback = closing
    page = opened(f"{url}#/findings/{case}")
    bar = page.locator(".remarks")
    bar.get_by_role("button", name="Acknowledge").click()
    expect(bar.get_by_role("button", name="Release")).to_be_visible()
    bar.get_by_role("button", name="It is right").click()
    expect(bar.get_by_role("button", name="It is right")).to_have_attribute("aria-pressed", "true")
    page.fill("#remark-note", "<b>the fan</b> was broken")
    page.press("#remark-note", "Enter")
    expect(bar.locator(".words")).to_have_text("<b>the fan</b> was broken")
    bar.get_by_role("button", name="Silence", exact=True).click()
    expect(bar.locator("[role=status]")).to_contain_text("Silenced")
    assert [one.act for one in feedback.journal.of(case).remarks] == ["acknowledge", "right", "note"]
    page = opened(f"{url}#/findings/{case}")
    expect(page.locator("header.title")).to_contain_text("acknowledged by local")
    page = opened(f"{url}#/alerts")
    expect(page.locator("#silences tbody tr")).to_contain_text("Slow rank 10.10.5.1")
    page.locator("#silences").get_by_role("button", name="End the silence").click()
    expect(page.locator("#silences .empty")).to_have_text("Nothing is silenced.")


def test_an_action_is_proposed_and_approved_on_the_page(closing, opened):
    url, case, heard, _ = closing
    page = opened(f"{url}#/findings/{case}")
    page.get_by_role("button", name="Drain the host (dry run)").click()
    row = page.locator("[data-action]")
    expect(row).to_contain_text("proposed by local")
    assert heard.posts == []
    page = opened(f"{url}#/alerts")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("#actions [data-action]")).to_contain_text("done by hook")
    assert len(heard.posts) == 1


def test_deliveries_are_listed_and_a_silence_that_fits_nothing_known_is_refused(closing, opened):
    page = opened(f"{closing[0]}#/alerts", allowed="409")
    expect(page.locator("#notifications tbody tr")).to_contain_text("9 attempts: HTTP 500: no")
    page.fill("#matchers", "colour=red")
    page.locator("#silences").get_by_role("button", name="Silence", exact=True).click()
    expect(page.locator("header [role=status]")).to_contain_text("no alert has a label 'colour'")
    page.fill("#matchers", "host=server5")
    page.locator("#silences").get_by_role("button", name="Silence", exact=True).click()
    expect(page.locator("#silences tbody tr")).to_contain_text("Slow rank")
