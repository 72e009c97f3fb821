"""Test where new delays arise, which ranks inherit them, and step times without them."""

from dataclasses import replace

import numpy as np
import pytest

from prism.graph.job_transfers import passed_hosts, transfers_of
from prism.graph.new_delays import _alike, _groups, _quick, _relayed, against_peers, against_steps
from prism.model import Group
from tests.prism.faults import BAD, NIC, RANK, RANKS, case, with_parts
from tests.prism.traffic import placed, seen, training


def delays_of(name):
    view = case(name)
    return view, against_steps(view, transfers_of(view))


def born(delays, side):
    """Return new delays by lane and step, ms."""
    t = delays.transfers
    out = np.zeros((len(t.lanes), t.steps))
    np.add.at(out, (t.lane, t.step), np.maximum(np.nan_to_num(delays.new[side]), 0) / 1e6)
    return out


def test_the_quick_steps_say_what_is_usual_though_most_are_slow():
    view = seen(
        training(dp=8, work=lambda step, rank: 35.0 if rank == RANK and step >= 4 else 20.0).flows(placed(8)), placed(8)
    )
    delays = against_steps(view, transfers_of(view))
    assert set(delays.model.tolist()) <= {0, 1, 2, 3}
    assert np.all(delays.more[5:] > 10e6)


def test_a_slow_ranks_delay_is_born_where_it_sends_and_receives_and_nowhere_else():
    _, delays = delays_of("slow rank")
    new = born(delays, 0)[:, list(BAD)].mean(axis=1)
    touches = (delays.transfers.lanes == RANK).any(axis=1)
    assert new[touches].sum() > 0.8 * new.sum()
    assert new[touches].max() == pytest.approx(45, rel=0.15)  # 15 ms forward, twice that backward


def test_a_slow_nics_delay_is_born_while_its_transfers_last():
    _, delays = delays_of("slow NIC")
    new = born(delays, 1)[:, list(BAD)].mean(axis=1)
    touches = (delays.transfers.lanes == NIC).any(axis=1)
    assert new[touches].sum() > 0.9 * new.sum()


def test_a_ready_receivers_message_says_who_of_the_two_was_late():
    _, delays = delays_of("slow rank")
    t, late = delays.transfers, np.isin(delays.transfers.step, list(BAD)) & (delays.new[0] > 5e6)
    sends, receives = late & (t.src == RANK), late & (t.dst == RANK)
    assert np.median(delays.called[sends]) > 0.8 * np.median(delays.new[0, sends])
    assert not receives.any() or np.median(delays.called[receives]) < 0.2 * np.median(delays.new[0, receives])
    silent = against_steps(case("slow rank", tcp=False), transfers_of(case("slow rank", tcp=False)))
    assert np.isnan(silent.called).all()


def with_new(delays, new):
    """Give delays another new part than the computed one."""
    vars(delays)["new"] = new
    return delays


def test_members_that_go_on_together_waited_for_the_one_that_has_moved_least():
    _, delays = delays_of("nothing")
    t, circle = delays.transfers, delays.events.dependencies.circle
    least = np.flatnonzero((t.step == 5) & (t.low == 0) & (circle[t.lane] >= 0))[0]
    mates = (circle[t.lane] == circle[t.lane[least]]) & (t.lane != t.lane[least])
    other = np.flatnonzero((t.step == 5) & (t.low > 0.5) & mates)[0]
    late, at = np.zeros_like(delays.late), delays.at.copy()
    late[0, least], late[0, other], at[0, other] = 9e6, 10e6, at[0, least]
    stood = with_new(replace(delays, late=late, events=with_parts(delays.events, at=at)), late)
    assert stood.awaited[[least, other]].tolist() == [least, least]
    assert stood.own[[least, other]].tolist() == [9e6, 1e6]


def test_collectives_that_a_barrier_released_inherited_their_delay_from_the_others():
    """Two collectives go on at one instant, both 9 ms late: one because its members were late before, so the other waited."""
    _, delays = delays_of("nothing")
    t = delays.transfers
    one, other, alone = np.flatnonzero((t.step == 5) & (t.low == 0))[:3]
    circle = np.full(len(t.lanes), -1, np.int32)
    circle[t.lane[[one, other, alone]]] = 0, 1, 2
    late, new, at = np.zeros_like(delays.late), np.zeros_like(delays.new), delays.at.copy()
    late[0, [one, other, alone]], new[0, [one, other, alone]] = 9e6, (1e6, 9e6, 9e6)
    at[0, [one, other]], at[0, alone] = at[0, one], at[0, one] + 50e6
    dependencies = delays.events.dependencies._replace(circle=circle)
    stood = with_new(replace(delays, late=late, events=with_parts(delays.events, at=at, dependencies=dependencies)), new)
    assert stood.own[[one, other, alone]].tolist() == [1e6, 0.0, 9e6]
    assert stood.released.tolist() == [other]
    twins = dependencies._replace(circle=np.where(circle == 1, 0, circle))
    assert not len(with_new(replace(stood, events=with_parts(stood.events, dependencies=twins)), new).released), (
        "one collective"
    )


@pytest.mark.parametrize(("ranks", "released"), [(10, True), (5, False)])
def test_most_of_many_ranks_that_begin_at_one_instant_were_released_though_they_are_unlike_late(ranks, released):
    """Some of two collectives, each a different time after its usual begin; those of the first were late before."""
    _, delays = delays_of("nothing")
    t = delays.transfers
    first = [np.flatnonzero((t.step == 5) & (t.src == rank))[0] for rank in range(ranks)]
    circle = np.full(len(t.lanes), -1, np.int32)
    circle[t.lane[first]] = np.arange(ranks) % 2
    late, new, at = np.zeros_like(delays.late), np.zeros_like(delays.new), delays.at.copy()
    late[0, first] = 9e6 + 100e3 * np.arange(ranks)
    new[0, first], at[0, first] = np.where(np.arange(ranks) % 2, late[0, first], 1e6), at[0, first[0]]
    dependencies = delays.events.dependencies._replace(circle=circle)
    stood = with_new(replace(delays, late=late, events=with_parts(delays.events, at=at, dependencies=dependencies)), new)
    assert sorted(stood.released.tolist()) == sorted(first[1::2] if released else [])


def test_what_lasts_waits_for_the_member_that_begins_latest_meanwhile():
    """Against plain Python: of the same collective, the begin within with the longest new delay."""
    _, delays = delays_of("slow rank")
    circle, new = delays.events.dependencies.circle[delays.transfers.lane], np.nan_to_num(delays.new[0])
    begin, end = delays.at
    for k in np.random.default_rng(1).permutation(len(begin))[:200]:
        inside = np.flatnonzero((circle == circle[k]) & (circle >= 0) & (begin > begin[k]) & (begin < end[k]))
        inside = inside[(new[inside] > 0) & (delays.new[1, k] > 0)]
        assert delays.starved[k] == new[inside].max(initial=0.0)
        assert delays.holder[k] in ([k] if not len(inside) else inside)


def test_two_replicas_are_compared_with_each_other():
    view = seen(training(dp=2, pp=2, work=lambda _, rank: 40.0 if rank == 3 else 20.0).flows(placed(4)), placed(4))
    delays = against_peers(view, transfers_of(view))
    own = delays.transfers.src == 3
    assert np.nanmedian(delays.late[0, own & (delays.transfers.dst == 1)]) > 10e6


def test_nothing_new_is_born_in_a_healthy_job_but_noise():
    view, delays = delays_of("nothing")
    assert np.median(born(delays, 0).max(axis=0)) < 0.1 * view.period / 1e6


@pytest.mark.parametrize(("name", "who", "side"), [("slow rank", RANK, 0), ("slow NIC", NIC, 1)])
def test_without_the_delays_of_the_culprit_steps_take_what_they_usually_do(name, who, side):
    view, delays = delays_of(name)
    t = delays.transfers
    own = (t.lanes[t.lane] == who).any(axis=1)
    gone = np.zeros((2, len(own)), bool)
    gone[: side + 1] = own
    saved = delays.saved(gone, np.ones(t.steps, bool))[list(BAD)]
    assert saved.sum() == pytest.approx(delays.more[list(BAD)].sum(), rel=0.2)
    other = (t.lanes[t.lane] == (who + 6) % RANKS).any(axis=1)
    assert delays.saved(np.stack([other, other]), np.ones(t.steps, bool))[list(BAD)].sum() < 0.3 * saved.sum()
    assert view.period > 0


def test_nothing_gone_saves_nothing():
    _, delays = delays_of("slow rank")
    nothing = np.zeros((2, len(delays.transfers.rows)), bool)
    assert not delays.saved(nothing, np.ones(delays.transfers.steps, bool)).any()


def test_steps_before_and_after_those_of_interest_need_no_replay():
    _, delays = delays_of("slow rank")
    t, steps = delays.transfers, np.isin(np.arange(delays.transfers.steps), list(BAD))
    own = (t.lanes[t.lane] == RANK).any(axis=1) & steps[t.step]
    whole = delays.saved(np.stack([own, own]), np.ones(t.steps, bool))
    assert delays.saved(np.stack([own, own]), steps).tolist() == np.where(steps, whole, 0).tolist()


def test_what_was_always_slow_is_late_against_its_peers():
    view = case("NIC always slow")
    delays = against_peers(view, transfers_of(view))
    touches = (delays.transfers.lanes[delays.transfers.lane] == NIC).any(axis=1)
    assert delays.slower[touches].sum() > 0.9 * delays.slower.sum()


def test_connections_whose_octets_vary_have_no_peers():
    view = case("rank always slow")
    t = transfers_of(view)
    known = against_peers(view, t)
    more = np.where((t.lane == 0) & (t.step == known.model[0]), 1.1, 1.0)
    assert np.isfinite(known.late[0, t.lane == 0]).any()
    varied = replace(t, octets=t.octets * more)
    assert np.isnan(against_peers(view, varied).late[0, t.lane == 0]).all()
    experts = replace(varied, kinds=np.full(len(t.lanes), "ep"))  # as many records in every step: one per exchange
    assert np.isfinite(against_peers(view, experts).late[0, t.lane == 0]).any()


def test_reductions_with_other_numbers_of_messages_are_no_peers():
    """As many octets in half as many messages are another operation, if all numbers of messages are the same in every step."""
    view = case("rank always slow")
    t = transfers_of(view)
    counts = np.full((len(t.lanes), t.steps), 4)
    counts[0] = 2
    counts[:, 0] = counts[:, -1] = 1  # cut off

    def alike():
        other = replace(t, begin=np.concatenate([[0], np.cumsum(counts)]))
        vars(other)["moved"] = t.moved
        return _alike(view, other)

    assert np.count_nonzero(alike() == alike()[0]) == 1
    assert np.count_nonzero(alike() == alike()[1]) == len(t.lanes) - 1
    counts[1, 2] = 5  # the number of records of a reduction is random
    assert np.array_equal(alike(), _alike(view, t))


def test_hosts_that_a_reduction_passes_are_compared_with_each_other():
    """Two hosts with four rails: where one reduction goes on inside them, any of their ranks delays all rails of a host."""
    view = seen(training(dp=8).flows(placed(8)), placed(8, nics=4))
    rails = np.stack([np.arange(8), (np.arange(8) + 4) % 8], axis=1).astype(np.int32)
    t = replace(transfers_of(view), lanes=rails)
    names = view.job.endpoints

    def alike(*groups):
        parts = tuple(Group("dp", tuple(names[i] for i in own), "traffic", 1.0) for own in groups)
        return len(set(_alike(replace(view, parallelism=replace(view.parallelism, groups=parts)), t).tolist()))

    assert alike(range(8)) == 1
    assert alike(*((i, i + 4) for i in range(4))) == 2
    assert passed_hosts(view, t.lanes) == {"host0", "host1"}
    assert passed_hosts(view, np.array([[0, 1], [1, 4]])) == {"host1"}  # seen inside the first


def test_what_one_rank_receives_and_sends_is_not_compared_with_each_other_alone():
    """The lanes at the first rank of a ring which moves half as much there; two replicas; two rings in one group."""
    lanes = np.array([[5, 0], [0, 1], [2, 3], [3, 2], [6, 7], [7, 8], [8, 6]])
    group = np.array([0, 0, 1, 1, 2, 2, 2])
    assert _relayed(lanes, group, np.bincount(group)).tolist() == [True, True, False, False, False, False, False]


def test_lanes_of_one_rank_are_not_compared_with_each_other_only():
    """Of 8 ranks that all exchange, every seventh lane leads to the first rank, but for the first."""
    group, place = _groups(np.zeros(56, np.int32))
    assert np.bincount(group).tolist() == [8] * 7
    assert len(np.unique(group * 8 + place)) == 56
    assert np.bincount(group[7::7]).max() < 5


def test_too_few_steps_say_nothing():
    view = seen(training(dp=8, steps=3).flows(placed(8)), placed(8))
    assert against_steps(view, transfers_of(view)) is None


@pytest.mark.parametrize(("first", "slow", "model"), [(2, 35.0, [0, 1]), (3, 35.0, [0, 1, 2]), (2, 24.0, [0, 1])])
def test_quick_steps_say_what_is_usual_where_all_others_are_slow_alike(first, slow, model):
    work = lambda step, rank: slow if rank == RANK and step >= first else 20.0  # noqa: E731
    view = seen(training(dp=8, steps=9, work=work).flows(placed(8)), placed(8))
    assert against_steps(view, transfers_of(view)).model.tolist() == model


def test_peers_are_compared_in_more_steps_than_those_that_say_what_is_usual():
    work = lambda step, _: (20.0, 21.5, 23.0)[step % 3]  # noqa: E731
    view = seen(training(dp=8, steps=9, work=work).flows(placed(8)), placed(8))
    t = transfers_of(view)
    assert len(against_steps(view, t).model) < len(against_peers(view, t).model) == 8


def test_a_last_step_of_which_a_part_is_recorded_does_not_say_what_is_usual():
    flows = training(dp=8, steps=9, work=lambda step, _: 20.0 if step < 8 else 5.0).flows(placed(8))
    view = seen(flows, placed(8))
    assert 8 in against_steps(view, transfers_of(view)).model
    last = view.flows.start_ns > view.ends[7]
    part = replace(view.flows, octets=np.where(last, view.flows.octets // 2, view.flows.octets))
    cut = replace(view, flows=part)
    assert 8 not in against_steps(cut, transfers_of(cut)).model


def test_one_quick_step_before_all_others_may_be_a_warm_up():
    view = seen(training(dp=8, steps=9, rate=lambda step, *_: 40.0 if step == 0 else 10.0).flows(placed(8)), placed(8))
    assert view.durations[0] < 0.8 * view.durations[1:].min()
    model = against_steps(view, transfers_of(view)).model
    assert 0 not in model
    assert len(model) > 1


@pytest.mark.parametrize(("quick", "usual"), [([0], list(range(1, 9))), ([8], [8]), ([0, 1], [0, 1])])
def test_a_warm_up_is_one_step_and_the_first(quick, usual):
    assert _quick(np.where(np.isin(np.arange(9), quick), 5.0, 10.0), 2).tolist() == usual
