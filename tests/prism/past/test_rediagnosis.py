from types import SimpleNamespace

import pytest

from prism.inventory.bookings import Booking, parse
from prism.past.rediagnosis import NothingError, TimeSpanRequest, TooMuchError, diagnosed
from prism.past.uploads import Bounds, Uploads
from prism.tracking.flow_sources import Memory
from tests.prism.played import capture
from tests.prism.receivers import until


def test_a_stretch_is_diagnosed_with_its_names_and_only_once(tmp_path):
    flows, _, topology, _ = capture("slow_rank")
    records = Memory(flows)
    first, last = flows.window
    booking = Booking("1", "llama", "ada", "gpu", topology.hosts(), start_ns=first - 10**9, source="slurm")
    with Uploads(tmp_path, Bounds(seconds=600)) as uploads:
        wish = TimeSpanRequest(first, last + 1)
        made = diagnosed(wish, records, uploads, topology=topology, bookings=(booking,))
        assert diagnosed(wish, records, uploads, topology=topology) is made
        assert made.to_json()["start_ns"] == str(first)
        until(lambda: made.state in ("done", "failed"), 300)
        assert made.error is None
        board = uploads.result(made.id).board
        assert [one.found.job.name for one in board.jobs] == ["llama"]
        assert {case.finding.ids for case in board.cases if case.finding.severity != "info"} == {("10.10.5.1",)}
        other = diagnosed(TimeSpanRequest(first, last + 1, '{"site": {"tp": [8]}}'), records, uploads)
        assert other.id != made.id


def test_nothing_and_too_much_are_errors():
    flows, *_ = capture("slow_rank")
    uploads = SimpleNamespace(all=list)
    with pytest.raises(NothingError, match="no flow records"):
        diagnosed(TimeSpanRequest(1, 2), Memory(flows), uploads)
    with pytest.raises(TooMuchError, match="more than 5 flow records"):
        diagnosed(TimeSpanRequest(*flows.window), Memory(flows), uploads, max_records=5)
    assert parse('{"jobs": []}', "jobs.json") == ()
