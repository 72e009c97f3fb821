"""A new board changes a page in place: what somebody reads, points at, types in or has chosen stays."""

import re
from contextlib import contextmanager
from dataclasses import replace

import pytest

from prism.api.server.web_server import served
from prism.service.service_settings import Service
from prism.tracking.board import Boards
from tests.prism.web.conftest import GENEROUS, Shown

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=20_000)

SELECT = "one => getSelection().selectAllChildren(one)"
SELECTED = "() => String(getSelection())"
# Lists of keyed and other elements, at random, drawn over one another: the page is as what was drawn last; rows stay the same
# objects, and as few as can be are moved.
PATCHES = """async seed => {
  const { h } = await import("/js/dom.js");
  const { redraw } = await import("/js/patch.js");
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  const below = most => Math.floor(random() * most);
  const leaf = (at, inside) => random() < 0.2 ? `text ${below(3)}` : h(random() < 0.5 ? "p" : "div", {
    key: random() < 0.6 ? `${at}-${below(4)}` : null,
    class: random() < 0.5 ? "a" : null,
    title: random() < 0.3 ? String(below(3)) : null,
    style: random() < 0.3 ? {width: `${below(9)}px`} : {},
  }, inside);
  const tree = depth => Array.from({length: below(6)}, (_, at) => leaf(at, depth ? tree(depth - 1) : "leaf"));
  const plain = one => {
    const copy = one.cloneNode(true);
    copy.querySelectorAll("[style='']").forEach(each => each.removeAttribute("style"));
    return copy;
  };
  const box = h("div");
  for (let turn = 0; turn < 200; turn += 1) {
    const wanted = h("div", {}, tree(3));
    const copy = wanted.cloneNode(true);
    redraw(box, [...wanted.childNodes]);
    if (!plain(box).isEqualNode(copy)) return `turn ${turn}: ${box.innerHTML} is not ${copy.innerHTML}`;
  }
  const rows = names => names.map(name => h("li", {key: name}, name));
  const list = h("ul");
  document.body.append(list);
  redraw(list, rows(["a", "b", "c", "d", "e", "f"]));
  const known = new Map([...list.children].map(one => [one.textContent, one]));
  const moved = [];
  new MutationObserver(seen => seen.forEach(one => moved.push(...one.addedNodes))).observe(list, {childList: true});
  redraw(list, rows(["b", "c", "e", "f", "a"]));
  await null;
  if ([...list.children].some(one => one !== known.get(one.textContent))) return "a row is another object";
  if (moved.length !== 1) return `${moved.length} rows were moved, one was enough`;
  return "well";
}"""

BROKEN = """async () => {
  const { h } = await import("/js/dom.js");
  const { part, redraw } = await import("/js/patch.js");
  const mount = (root, first) => {
    const update = props => {
      if (props.broken) throw new Error("broken drawing");
      redraw(root, h("b", {}, props.text));
    };
    update(first);
    return { update };
  };
  const box = h("div");
  document.body.append(box);
  return [{broken: true}, {text: "one"}, {broken: true}, {text: "two"}, {text: "three"}].map(props => {
    redraw(box, part({}, mount, props), h("i", {}, " after"));
    return box.textContent.replace(/ Reload .* says[.]/, "");
  });
}"""


@pytest.fixture
def live(slow_rank):
    boards = Boards(slow_rank[0])
    with served(Service(boards, slow_rank[1], "live", limits=GENEROUS)) as port:
        yield Shown(port, boards)


@contextmanager
def updated(page):
    """Until the page shows the board that is published inside."""
    before = page.locator("main").get_attribute("data-ready")
    yield
    page.wait_for_function("before => document.querySelector('main').dataset.ready !== before", arg=before)


def named(job, name: str):
    return replace(job, found=replace(job.found, job=replace(job.found.job, id=name)))


def told_anew(case, message: str):
    return replace(case, finding=replace(case.finding, message=message))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_was_drawn_last_is_shown_by_the_elements_that_were_there(live, opened, seed):
    page = opened(live.url)
    assert page.evaluate(PATCHES, seed) == "well"


def test_a_part_that_fails_leaves_the_rest_and_comes_back(live, opened):
    page = opened(live.url, allowed="broken drawing")
    advice = "Reload the page; if it fails again, report the text of the browser's console."
    failed = f"▲ This part of the page cannot be drawn. {advice} after"
    assert page.evaluate(BROKEN) == [failed, "one after", failed, "two after", "three after"]


def test_a_row_stays_the_same_object_where_it_moves_and_changes(live, opened):
    page = opened(live.url)
    (job,) = live.first.jobs
    with updated(page):
        live.publish(jobs=(job, named(job, "zz")))
    row = page.locator("#jobs tbody tr", has_text=job.id).element_handle()
    state = row.query_selector(".state")
    canvas = page.locator("#fabric canvas").element_handle()
    page.get_by_role("button", name="Job", exact=True).click()
    silent, ended = replace(job, state="silent"), replace(job, state="ended")
    for jobs in ((named(job, "aa"), silent, named(job, "zz")), (ended, named(job, "zz"))):
        with updated(page):
            live.publish(jobs=jobs)
        expect(page.locator("#jobs tbody tr")).to_have_count(len(jobs))
        assert row.evaluate("(one, name) => one.isConnected && one.textContent.includes(name)", job.id)
    assert state.evaluate("one => one.isConnected && one.textContent") == "○ ended"
    assert canvas.evaluate("one => one.isConnected")
    page.locator("#jobs th").get_by_role("button", name="Job", exact=False).first.click()  # what it sorts is what came last
    expect(page.locator("#jobs tbody tr").first).to_contain_text(job.id)
    page.locator("#filter").fill("zz")
    expect(page.locator("#jobs tbody tr")).to_have_count(1)


def test_a_selection_stays_over_updates_also_where_its_neighbours_change(live, opened):
    page = opened(live.url)
    case = live.first.cases[0]
    page.locator("#newest .message").evaluate(SELECT)
    text = page.evaluate(SELECTED)
    assert text.startswith("own work")
    with updated(page):
        live.publish(cases=(told_anew(replace(case, id="f00dfeed"), "another"), case))
    with updated(page):
        live.publish(cases=(case, told_anew(replace(case, id="f00dfeed"), "another still")))
    expect(page.locator("#newest .message").last).to_have_text("another still")
    assert page.evaluate(SELECTED) == text
    with updated(page):  # of a text that is new, as much is selected as before
        live.publish(cases=(told_anew(case, text.replace("645", "663")),))
    assert page.evaluate(SELECTED) == text.replace("645", "663")


def test_a_tip_stays_open_and_shows_what_is_new(live, opened):
    page = opened(live.url)
    factor = [1]

    def more(route):
        answer = route.fetch()
        body = answer.json()
        for one in body["links"]:
            one["octets"] *= factor[0]
        route.fulfill(response=answer, json=body)

    page.route(re.compile("/api/v1/switches"), more)
    canvas = page.locator("#fabric canvas").bounding_box()
    tip = page.locator("#fabric .tip")
    for x in range(100, 400, 10):
        page.mouse.move(canvas["x"] + x, canvas["y"] + 30)
        if tip.is_visible() and "MB" in tip.text_content():
            break
    before, shown = tip.text_content(), tip.element_handle()
    factor[0] = 3
    with updated(page):
        live.publish()
    assert tip.is_visible()
    assert shown.evaluate("one => one.isConnected")
    number = [float(re.search(r"([\d.]+) MB", text)[1]) for text in (before, tip.text_content())]
    assert number[1] == pytest.approx(3 * number[0], rel=0.05)


def test_focus_scrolling_and_what_is_typed_stay(live, opened):
    page = opened(live.url, viewport={"width": 900, "height": 400})
    case = live.first.cases[0]
    page.locator("#newest .claim a").first.focus()
    page.evaluate("() => scrollTo(0, 120)")
    where = page.evaluate("() => scrollY")
    assert where > 0
    with updated(page):
        live.publish(cases=(case, replace(case, id="f00dfeed")))
    expect(page.locator(f'#newest .claim a[href$="{case.id}"]').first).to_be_focused()
    assert page.evaluate("() => scrollY") == where
    with updated(page):  # it closes, and stands in another list
        live.publish(cases=(replace(case, state="closed", closed_ns=case.updated_ns),))
    expect(page.locator(f'#newest .closed a[href$="{case.id}"]').first).to_be_focused()
    field = page.locator("#filter")
    field.fill("d6002")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    with updated(page):
        live.publish(cases=(case,))
    page.keyboard.type("x")
    expect(field).to_have_value("d60x02")
    page.keyboard.press("Backspace")
    expect(page.locator("#jobs tbody tr")).to_have_count(1 if "d6002" in live.first.jobs[0].id else 0)


def test_what_is_chosen_on_a_job_stays(live, opened):
    page = opened(f"{live.url}#/jobs/{live.first.jobs[0].id}")
    page.select_option("#measure", "work")
    expect(page.locator("#timeline canvas")).to_be_visible()
    box = page.locator("#steps canvas").first.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.6, box["y"] + 60)
    page.wait_for_function("() => location.hash.includes('steps=')")
    page.locator("#timeline .timeline").focus()
    with page.expect_response(re.compile("/timeline")):
        page.keyboard.press("+")
    page.wait_for_function("() => location.hash.includes('view=')")
    page.locator("#graph input").first.uncheck()
    expect(page.locator("#graph path")).not_to_have_count(20)
    paths, address = page.locator("#graph path").count(), page.url
    page.locator("#layout summary").first.click()
    page.locator("#timeline .timeline").focus()
    canvases = page.locator("main canvas").element_handles()
    with page.expect_request(re.compile("/timeline")) as asked, updated(page):
        live.publish()
    start = re.search(r"view=(\d+):", address)[1]
    assert f"start_ns={start}" in asked.value.url  # what it shows is what was chosen
    assert page.url == address
    expect(page.locator("#measure")).to_have_value("work")
    expect(page.locator("#graph path")).to_have_count(paths)
    assert page.locator("#layout details").first.evaluate("one => one.open")
    expect(page.locator("#timeline .timeline")).to_be_focused()
    assert all(one.evaluate("one => one.isConnected") for one in canvases)
    heat = page.locator("#steps canvas").nth(1)
    heat.hover(position={"x": heat.bounding_box()["width"] / 2, "y": 10})  # drawings still know of one another
    expect(page.locator("#graph .key")).to_contain_text("sends")
    page.select_option("#measure", "duration")
    expect(page.locator("#measure")).to_have_value("duration")
    page.wait_for_function("() => !location.hash.includes('measure=')")


def test_a_finding_keeps_its_steps_its_tip_and_its_link(live, opened):
    case = live.first.cases[0]
    page = opened(f"{live.url}#/findings/{case.id}")
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_function("() => !document.querySelector('.share').textContent.includes('Copy link')")
    box = page.locator("#pictures canvas").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60)
    tip = page.locator("#pictures .tip").first
    expect(tip).to_contain_text("step ")
    text = tip.text_content()
    with updated(page):
        live.publish(cases=(told_anew(case, "worse now"),))
    expect(page.locator(".lead")).to_have_text("worse now")
    assert tip.is_visible()
    assert tip.text_content() == text
    assert "Copy link" not in page.locator(".share").text_content()


def test_a_pause_holds_updates_back_and_counts_them(live, opened):
    page = opened(live.url)
    page.keyboard.press("p")
    expect(page.locator(".notice.paused")).to_contain_text("Paused")
    row = page.locator("#jobs tbody tr").element_handle()
    for held in (1, 2):
        live.publish(cases=(), jobs=())
        expect(page.locator(".notice.paused")).to_contain_text(f"{held} update{'s' if held > 1 else ''} held back")
    page.wait_for_timeout(400)  # longer than boards are gathered before they are drawn
    assert row.evaluate("one => one.isConnected")
    resume = page.get_by_role("button", name="Resume live updates (p), 2 updates held back")
    expect(resume).to_have_text("▶ 2")
    resume.click()
    expect(page.locator("#newest")).to_contain_text("No job was analysed")
    expect(page.locator(".notice.paused")).to_have_count(0)


def test_a_new_finding_is_announced_by_its_title_others_by_number(live, opened):
    page = opened(live.url)
    case = live.first.cases[0]
    said = page.locator("[role=status]")
    live.publish(cases=(case, replace(case, id="f00dfeed")))
    expect(said).to_have_text("1 new finding: Slow rank 10.10.5.1 (server5)")
    live.publish(cases=(case,))
    page.evaluate("() => { document.querySelector('[role=status]').textContent = ''; }")
    live.publish(cases=(case, replace(case, id="feed0001"), replace(case, id="feed0002")))
    expect(said).to_have_text("2 new findings")


def test_a_click_that_has_begun_is_not_taken_away(live, opened):
    page = opened(live.url)
    link = page.locator("#newest .claim a").first
    box = link.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    with page.expect_response(re.compile("/findings")):
        live.publish(cases=(replace(live.first.cases[0], state="closed"),))
    page.wait_for_timeout(400)
    page.mouse.up()
    expect(page.locator("h1")).to_have_text("Slow rank 10.10.5.1 (server5)")


def test_updates_leave_nothing_behind(live, opened):
    page = opened(f"{live.url}#/jobs/{live.first.jobs[0].id}")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def least():
        """The least nodes and listeners that were counted while the last drawings came to rest."""
        seen = []
        for _ in range(8):
            page.wait_for_timeout(150)
            session.send("HeapProfiler.collectGarbage")
            found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
            seen.append((found["Nodes"], found["JSEventListeners"]))
        return min(seen)

    def update(times):
        for _ in range(times):
            with updated(page):
                live.publish()

    update(2)
    nodes, listeners = least()
    update(6)
    after = least()
    assert after[0] <= nodes * 1.02
    assert after[1] <= listeners + 5
