import json
from dataclasses import replace

import httpx
import pytest

from prism.api.server.web_server import served
from prism.findings.titles import title
from prism.service.service_settings import Limits
from tests.prism.api.conftest import GENEROUS, make_service


def events(lines):
    """Events of a stream, as dicts."""
    event = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
        elif event:
            yield event
            event = {}


@pytest.fixture
def live():
    service = make_service(limits=replace(GENEROUS, streams=2))
    with served(service) as port:
        yield service, f"http://127.0.0.1:{port}/api/v1/events"


def test_every_new_board_is_reported(live):
    service, url = live
    with httpx.stream("GET", url, timeout=60) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        told = events(stream.iter_lines())
        first = next(told)
        assert (first["event"], first["id"], json.loads(first["data"])["revision"]) == ("board", "1", 1)
        service.boards.publish(replace(service.boards.newest, revision=2, cases=()))
        second = next(told)
        assert second["id"] == "2"
        assert json.loads(second["data"])["counts"]["findings"] == {"critical": 0, "warning": 0, "info": 0}


def test_what_changed_is_said_by_id_and_how_many_boards_were_missed(live):
    service, url = live
    board = service.boards.newest
    with httpx.stream("GET", url, timeout=60) as stream:
        told = events(stream.iter_lines())
        first = json.loads(next(told)["data"])
        assert (first["changed"], first["missed"]) == (None, None)
        assert first["at_time"].endswith("Z")
        closed = [replace(case, state="closed") for case in board.cases]
        service.boards.publish(replace(board, revision=4, cases=tuple(closed), jobs=()))
        second = json.loads(next(told)["data"])
    assert second["missed"] == 2
    assert second["changed"] == {
        "jobs": [{"id": status.id, "what": "gone"} for status in board.jobs],
        "findings": [
            {"id": case.id, "what": "closed", "title": title(case.finding, board.topology)}
            for case in board.cases
            if case.state == "open"
        ],
        "more": 0,
    }


def test_who_comes_back_hears_only_what_is_new(live):
    service, url = live
    with httpx.stream("GET", url, headers={"Last-Event-ID": "1"}, timeout=60) as stream:
        service.boards.publish(replace(service.boards.newest, revision=5))
        assert next(events(stream.iter_lines()))["id"] == "5"


def test_streams_are_bounded_and_what_ends_makes_room(live):
    _, url = live
    with httpx.stream("GET", url, timeout=60) as one, httpx.stream("GET", url, timeout=60) as two:
        told = [events(stream.iter_lines()) for stream in (one, two)]
        assert [next(stream)["id"] for stream in told] == ["1", "1"]
        assert httpx.get(url).status_code == 503
    while True:  # the server hears a little later that they have gone
        with httpx.stream("GET", url, timeout=60) as three:
            if three.status_code == 200:
                break


def test_streams_end_when_the_service_does():
    with served(make_service(limits=Limits())) as port:
        client = httpx.Client(timeout=60)
        request = client.build_request("GET", f"http://127.0.0.1:{port}/api/v1/events")
        stream = client.send(request, stream=True)
        told = events(stream.iter_lines())
        next(told)
    assert list(told) == []
    client.close()
