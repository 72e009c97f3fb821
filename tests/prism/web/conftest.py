"""A service that shows a recorded run, and pages of it, which the tests of the pages share."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from collectors.operations.metrics import Count
from prism.analysis import diagnose
from prism.api.server.web_server import served
from prism.past.uploads import Bounds, Uploads
from prism.recordings.file_analysis import read
from prism.service.service_settings import Limits, Service
from prism.topology import parse
from prism.tracking.board import Board, Boards, board_of
from prism.tracking.flow_sources import Memory

PCAPS = Path(__file__).parents[3] / "pcaps"
GENEROUS = Limits(per_second=1e6, burst=10**6)
COUNTS = [
    Count("prism_collect_datagrams", "Datagrams.", {("sflow",): 7130.0}, ("kind",)),
    Count("prism_collect_dropped", "Lost.", {("queue full",): 12.0, ("malformed",): 0.0}, ("reason",)),
]
HEALTH = {"store": {"ok": True, "rows": 81_000}, "spool": {"ok": False, "oldest_s": 75.0}}


def recorded(name: str = "slow_rank"):
    """The board of a recorded run, and its records."""
    topology = parse((PCAPS / name / "topology.json").read_text(), "topology.json")
    inputs = [(path.name.split(".")[0], str(path)) for path in sorted((PCAPS / name).glob("*.pcap.gz"))]
    flows, transits, source = read(inputs, topology, lambda *_: None)
    return board_of(diagnose(flows, source, topology=topology, transits=transits), topology), Memory(flows)


class Shown:
    """A service that runs: its address, its boards, the board at the begin."""

    def __init__(self, port: int, boards: Boards) -> None:
        self.url, self.boards, self.first = f"http://127.0.0.1:{port}/", boards, boards.newest

    def publish(self, **fields) -> Board:
        """A newer board that differs in some fields."""
        newest = self.boards.newest
        self.boards.publish(Board(**(vars(newest) | {"revision": newest.revision + 1} | fields)))
        return self.boards.newest


@pytest.fixture(scope="session")
def slow_rank():
    return recorded()


@pytest.fixture(scope="module")
def shown(slow_rank, tmp_path_factory):
    board, records = slow_rank
    boards = Boards(board)
    with Uploads(tmp_path_factory.mktemp("spool"), Bounds(seconds=900)) as uploads:
        service = Service(boards, records, "live", lambda: COUNTS, lambda: HEALTH, uploads=uploads, limits=GENEROUS)
        with served(service) as port:
            yield Shown(port, boards)


@pytest.fixture(scope="session")
def usual(browser):
    """A context as most have it; what tests do in it stays in their pages."""
    made = browser.new_context(viewport={"width": 1280, "height": 800})
    yield made
    made.close()


@pytest.fixture
def opened(browser, usual):
    """A function that opens an address in a page; afterwards nothing was said on the console and nobody else was asked.

    `allowed`: a pattern of what the console may say; `options` of a browser context of its own.
    """
    made, said = [], defaultdict(list)

    def open_(url: str, *, allowed: str = "", **options):
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 800}} | options)) if options else usual
        page = context.new_page()
        page.set_default_timeout(20_000)
        made.append(context if options else page)
        home = url.split("#")[0]

        def heard(message):
            if message.type in ("error", "warning") and not (allowed and re.search(allowed, message.text)):
                said[home].append(message.text)

        page.on("console", heard)
        page.on("pageerror", lambda error: said[home].append(str(error)))
        page.on("request", lambda r: None if r.url.startswith((home, "data:", "blob:")) else said[home].append(r.url))
        page.goto(url)
        page.wait_for_selector("main[data-ready]")
        return page

    yield open_
    for one in made:
        one.close()
    assert dict(said) == {}
