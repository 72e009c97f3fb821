from dataclasses import replace

import numpy as np
import pytest

from collectors.clickhouse import drivers
from prism.model import Job
from prism.storage._job_history import blocks
from prism.storage.history_store import BURST, EVERY_NS, HISTORY, RATE, SLOTS, Histories
from prism.tracking.board import Case
from prism.tracking.case_tracking import TrackedFinding
from prism.tracking.job_tracking import Followed
from prism.views import timeline_views
from tests.prism.storage.test_job_history import longer

S = 1_000_000_000


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    pytest.importorskip("chdb")
    made = drivers.opened(str(tmp_path_factory.mktemp("store")))
    yield made
    made.close()


@pytest.fixture
def one(diagnosis, request):
    found = diagnosis.jobs[0]
    return Followed(replace(found.job, id=request.node.name), 0, found, step_ns=1.4e9, talked_ns=found.job.end_ns)


def bare(one):
    return replace(one, found=None)


def rows(database, name):
    return int(database.query(f"SELECT count() AS n FROM {HISTORY.name} WHERE id = {{id:String}}", {"id": name})["n"][0])


def test_a_job_keeps_its_history(database, one):
    Histories(database).save([one], [], 100 * S)
    after = Histories(database)
    back = after.load(bare(one))
    assert timeline_views.steps(back.found) == timeline_views.steps(one.found)
    assert (back.found.job.id, after.unread) == (one.id, 0)
    before = rows(database, one.id)
    after.save([back], [], 200 * S)
    assert rows(database, one.id) == before + 1  # the head: what was read is known to be there
    moved = replace(one.job, endpoints=one.job.endpoints[::-1])
    assert Histories(database).load(replace(bare(one), job=moved)).found is None


def test_only_what_changed_is_written(database, one, make_finding):
    histories, at = Histories(database), 100 * S
    histories.save([one], [], at)
    first, count = histories.octets, rows(database, one.id)
    histories.save([one], [], at + EVERY_NS - 1)
    assert (histories.octets, rows(database, one.id)) == (first, count)
    histories.save([one], [], at + EVERY_NS)
    assert rows(database, one.id) == count + 1
    again = histories.octets - first
    assert again < first / 4
    entry = TrackedFinding(Case("c", replace(make_finding(), job=one.id), "open", 1, 1), 0.1, 1, told=True)
    histories.save([one], [entry], at + EVERY_NS + 1)  # a case has opened: at once
    assert rows(database, one.id) == count + 2
    more, _ = longer(one.found, 50)
    histories.save([replace(one, found=more)], [entry], at + 3 * EVERY_NS)
    total = histories.octets
    more, _ = longer(one.found, 51)
    histories.save([replace(one, found=more)], [entry], at + 5 * EVERY_NS)
    assert histories.octets - total < first + again  # not all of the past


def test_what_is_written_is_bounded_and_the_rest_comes_later(database, one):
    found, _ = longer(one.found, 200)
    whole = 16 * sum(map(len, found.timeline.steps))
    rate = whole // 100
    histories, many = Histories(database, rate=rate, burst=rate), replace(one, found=found)
    at, spent = 100 * S, []
    for second in range(400):
        before = histories.octets
        histories.save([many], [], at + second * S)
        spent.append(histories.octets - before)
    largest = whole // 10  # a part may go over what is left
    for begin in range(0, 400, 50):
        assert sum(spent[begin : begin + 50]) <= 51 * rate + largest
    back = Histories(database).load(bare(many))
    assert timeline_views.steps(back.found)["job"] == timeline_views.steps(found)["job"]
    assert RATE <= BURST


def test_a_long_job_takes_bounded_room(database, one):
    found, length = longer(one.found, 4 * SLOTS)
    histories = Histories(database)
    histories.save([replace(one, found=found, step_ns=length / 256)], [], 100 * S)
    assert rows(database, one.id) <= SLOTS + 1
    back = Histories(database).load(bare(one))
    assert back.found is not None
    assert len(back.found.timeline.steps[0]) < len(found.timeline.steps[0])
    np.testing.assert_array_equal(back.found.timeline.steps[0][-1], found.timeline.steps[0][-1])


def test_what_cannot_be_read_is_counted(database, one):
    histories = Histories(database)
    histories.save([one], [], 100 * S)
    bad = {"id": [one.id], "slot": [-1], "version": [101 * S], "begun_ns": [one.job.start_ns], "told": ["of another version"]}
    database.insert(HISTORY, bad, token="other")
    after = Histories(database)
    assert after.load(bare(one)).found is None
    assert after.unread == 1
    assert after.load(Followed(Job("nobody", ("a",), (), 0, 0), 0)).found is None
    assert len(blocks(one.found.timeline, 10 * S)) > 0
