"""Scripts and helpers that the tests of the pages share."""

from tests.prism.web.conftest import Shown

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
