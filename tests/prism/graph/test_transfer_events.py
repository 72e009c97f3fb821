"""Test the order of events, and which ranks of a host wait for each other."""

from itertools import pairwise

import numpy as np

from prism.graph import constants as c
from prism.graph.job_transfers import transfers_of
from prism.graph.transfer_events import Events, host_mates, in_time
from tests.prism.faults import case, with_parts
from tests.prism.traffic import placed, seen, training


def test_an_end_comes_before_what_begins_at_that_moment():
    begins, ends = np.random.default_rng(1).integers(0, 20, (2, 50))
    ends += begins
    by, order = in_time(begins, ends)
    assert by.tolist() == np.argsort(begins, kind="stable").tolist()
    times, lasts = np.concatenate([begins[by], ends[by]]), (ends > begins)[by]
    assert sorted(order) == list(range(100))
    assert (np.diff(times[order]) >= 0).all()
    long = order[lasts[order % 50]]
    assert np.lexsort((long < 50, times[long])).tolist() == list(range(len(long)))
    assert (np.argsort(order)[:50] < np.argsort(order)[50:]).all(), "a transfer of one packet begins before it ends"


def test_ranks_of_a_group_in_one_host_wait_for_one_another_unseen():
    view = seen(training(dp=8).flows(placed(8, nics=2)), placed(8, nics=2))
    who, begins = host_mates(view)
    assert [who[a:b].tolist() for a, b in pairwise(begins)] == [[r - r % 2, r - r % 2 + 1] for r in range(8)]


def test_receivers_that_announce_themselves_are_waited_for():
    told, untold = (case("nothing", tcp=tcp) for tcp in (True, False))
    waits = [Events(view, transfers_of(view)).receivers(view.period) for view in (told, untold)]
    assert waits[0] > waits[1]


def test_who_only_works_before_it_receives_shows_nothing_of_who_waits():
    """Senders that had just ended a transfer are no sign that they do not wait: then as likely as not."""
    view = case("nothing", tcp=False)
    events = Events(view, transfers_of(view))
    sends = np.zeros_like(events.idle_for[0])
    assert with_parts(events, idle_for=np.stack([sends, sends + view.period])).receivers(view.period) == c.WAITS
    assert with_parts(events, idle_for=np.stack([sends + view.period, sends])).receivers(view.period) == 1.0
