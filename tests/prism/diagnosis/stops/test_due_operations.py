from dataclasses import replace

import numpy as np
import pytest

from collectors.columns.record import concatenated
from prism.diagnosis.stops.due_operations import Due, Stop, _began, due_operations, explained, own_steps, progress
from prism.diagnosis.stops.hang import _guilty
from tests.prism.faults import RANK, RANKS, case
from tests.prism.traffic import placed


def stop_of(view, *, over=True):
    """The silence of the hang in step 7."""
    start, end = view.during(7, 8)
    rows = np.sort(view.flows.start_ns[~view.flows.control()])
    ends = np.sort(view.flows.end_ns[~view.flows.control()])
    at = int(np.argmax(rows[1:] - ends[:-1]))
    steps = own_steps(view)
    since, until = (np.array([own[7, side] for own in steps]) for side in (0, 1))
    assert start < ends[at] < rows[at + 1] < end
    return Stop(int(ends[at]), int(rows[at + 1]), over, False, 7, since, until)


@pytest.mark.parametrize("tcp", [True, False])
@pytest.mark.parametrize("over", [True, False])
def test_due_operations_have_the_rank_that_stopped_at_one_end(over, tcp):
    view = case("hang", tcp=tcp)
    found = due_operations(view, stop_of(view, over=over), np.arange(1, 6))
    first = found.lanes[found.weight == found.weight.max()]
    assert all(RANK in lane for lane in first.tolist())
    ranks, hosts = explained(view, found)
    assert int(np.argmax(ranks + hosts)) == RANK
    assert 0.5 < ranks.sum() + hosts.sum() <= 1


def test_nobody_sends_to_a_rank_that_left():
    view = case("slow rank")
    stop = stop_of(view)
    assert due_operations(view, stop._replace(gone=True), np.arange(2, 6)).receivers == 1.0


def test_progress_is_what_each_rank_had_sent_and_sent_afterwards():
    view = case("hang")
    begun, rest = progress(view, stop_of(view), np.arange(1, 6))
    assert begun + rest == pytest.approx(np.ones(RANKS), abs=0.01)
    assert begun[RANK] == 0
    begun, rest = progress(view, stop_of(view, over=False), np.arange(1, 6))
    assert rest == pytest.approx(1 - begun)


@pytest.mark.parametrize(
    ("lanes", "guilty"),
    [([(4, 5), (5, 6)], [5]), ([(4, 5), (5, 4)], [4, 5]), ([(0, 1), (4, 5), (8, 9)], []), ([], [])],
)
def test_the_fewest_ranks_that_explain_all_due_operations_are_named(lanes, guilty):
    view = case("hang")
    found = Due(np.reshape(lanes, (-1, 2)).astype(np.int64), np.ones(len(lanes)), np.zeros((len(lanes), 2), np.bool_))
    assert _guilty(view, found, *explained(replace(view, topology=None), found)) == guilty


def test_who_took_part_later_did_not_stop():
    view = case("hang")
    found = Due(np.array([[4, 5]]), np.ones(1), np.array([[True, False]]))
    assert _guilty(view, found, *explained(view, found)) == [5]
    assert _guilty(view, found, *explained(view, found._replace(alive=np.array([[False, True]])))) == [4]


def test_who_ends_a_silence_with_a_control_message_had_stopped():
    view = case("hang", tcp=True)
    view = replace(view, parallelism=replace(view.parallelism, streams=()))  # of rows that change here
    stop, flows = stop_of(view), view.flows
    row = np.flatnonzero((flows.src == view.codes[3]) & flows.control())[:1]
    words = replace(flows.take(row), start_ns=np.array([stop.end - 1000]), end_ns=np.array([stop.end - 900]))
    quiet = flows.take(np.flatnonzero(~(flows.control() & (flows.start_ns > stop.start) & (flows.start_ns < stop.end))))
    heard = replace(view, flows=concatenated([quiet, words]))
    assert _began(heard, stop).tolist() == [3]
    found = due_operations(heard, stop, np.arange(1, 6))
    assert [3, 3] in found.lanes.tolist()
    without = due_operations(replace(view, flows=quiet), stop, np.arange(1, 6))
    assert explained(heard, found)[0][3] > 100 * explained(heard, without)[0][3]
    assert _began(replace(view, flows=quiet), stop).tolist() == []


def test_operations_between_two_hosts_show_no_more_of_them_than_one():
    """Hosts 0 and 1 exchange first in most steps, 1 and 2 in some: 0 is as likely if several ranks exchange then."""
    view = replace(case("hang"), topology=placed(12, nics=4))
    lanes, weight = np.array([[4 + i, i] for i in range(4)] + [[8 + i, 4 + i] for i in range(4)]), np.repeat([0.9, 0.1], 4)
    hosts = [
        explained(view, Due(lanes[:many], weight[:many], np.zeros((many, 2), np.bool_)))[1].reshape(3, 4).sum(axis=1)
        for many in (5, 8)
    ]
    assert hosts[0][0] == pytest.approx(hosts[1][0], abs=0.01)
