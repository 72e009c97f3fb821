import asyncio
import threading

from prism.api.requests.board_events import Hub
from prism.tracking.board import Board, Boards
from tests.loops import apart


def test_streams_are_woken_by_boards_and_by_others():
    async def follow():
        boards = Boards(Board(revision=1))
        hub = Hub(boards)
        async with hub.running():
            for act in (lambda: boards.publish(Board(revision=2)), hub.wake, hub.close):
                changed = hub.changing()
                thread = threading.Thread(target=act)
                thread.start()
                await asyncio.wait_for(changed.wait(), 60)
                thread.join()
        assert hub.closed
        hub.wake()  # nobody listens any more

    apart(follow())


def test_the_age_of_a_board_begins_anew_with_each():
    boards = Boards(Board(revision=1))
    hub = Hub(boards)
    assert hub.age_s() >= 0
    boards.publish(Board(revision=2))
    assert hub.age_s() == 0.0
