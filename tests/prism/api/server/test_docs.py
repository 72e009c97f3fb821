"""The description of the API in a real browser."""

from tests.browsers import launched


def test_the_page_lists_operations_and_sends_a_get(url):
    with launched() as browser:
        page = browser.new_page()
        faults = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.goto(f"{url}/docs")
        page.wait_for_selector("main[aria-busy=false]")
        one = page.locator("details", has=page.locator("summary code", has_text="/api/v1/jobs")).first
        one.locator("summary").click()
        one.locator("button").click()
        one.locator("pre", has_text="200 OK").wait_for()
        assert "job-1" in one.locator("pre", has_text="200 OK").inner_text()
        assert faults == []
        page.close()
