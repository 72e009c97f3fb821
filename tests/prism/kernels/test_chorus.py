import numpy as np

from prism.kernels.chorus import Chorus, chorus, told_by
from prism.kernels.rhythm import FOREVER, NONE, Rhythm
from tests.prism.traffic import MS, T0, Wire

STEPS, PARTS = 12, 4


def trained(*, asked=False):
    """Steps of several reductions in a ring of three, after each of which all say a word; also when steps ended.

    `asked`: receivers give credits, each before what is sent to them.
    """
    wire, at, ends = Wire(), T0, []
    for _ in range(STEPS):
        for _ in range(PARTS):
            done = at
            for a in range(3):
                b = (a + 1) % 3
                done = max(done, wire.send(a, b, 1_000_000, at))
                if asked:
                    wire.send(b, a, 64, at - MS // 2, dst_qp=77)
            at = done + 10 * MS
        ends.append(done)
        for a in range(3):
            wire.send(a, (a + 1) % 3, 64, done + MS)
        at = done + 30 * MS
    return wire.flows(), np.array(ends)


def heard(flows):
    rows = np.flatnonzero(~flows.control())
    return chorus(flows, flows.start_ns[rows], flows.end_ns[rows], flows.octets[rows])


def test_what_all_say_ends_steps_whatever_pauses_they_have():
    flows, ends = trained()
    found = heard(flows)
    assert found.rhythm.quiet[:, 0].tolist() == ends.tolist()
    assert found.rhythm.octets == 3 * PARTS * 1_000_000
    assert found.rhythm.explained == 1


def test_words_that_ask_for_payload_make_no_steps_of_its_parts():
    flows, ends = trained(asked=True)
    found, begins = heard(flows), np.append(ends[:-1] + 30 * MS, FOREVER)
    assert len(found.rhythm.quiet) == STEPS * PARTS
    assert not told_by(found, Rhythm(np.stack([ends, begins], axis=1), 3 * PARTS * 1_000_000, 1.0))


def test_no_word_between_equal_volumes_is_none():
    flows, _ = trained()
    silent = flows.take(~flows.control())
    assert heard(silent).rhythm is NONE
    rng = np.random.default_rng(0)
    anywhere = np.where(flows.control(), T0 + rng.integers(0, 500 * MS, len(flows)), flows.end_ns)
    mixed = flows.take(np.argsort(anywhere, kind="stable"))
    mixed.end_ns[:] = np.sort(anywhere)
    assert heard(mixed).rhythm is NONE


def clock(*, every=1, gaps=None, late=0.2):
    """A clock of 24 parts of which `every` so many end a step, and the chorus of those; `gaps` in ms, `late` a share."""
    gap = np.resize(np.array(gaps or [20]), 24) * MS
    begin = T0 + 400 * MS * np.arange(24)
    quiet = np.stack([begin, begin + gap], axis=1)
    own = quiet[every - 1 :: every]
    times = own[:, 0] + (late * (own[:, 1] - own[:, 0])).astype(np.int64)
    return Chorus(Rhythm(own, 8 * every, 1.0), times), Rhythm(quiet, 8, 1.0)


def test_parts_are_told_from_steps_by_their_gaps():
    assert told_by(*clock(every=4, gaps=[10, 10, 10, 30]))
    assert told_by(*clock(every=4, gaps=[30, 30, 30, 10], late=0.9))
    assert told_by(*clock(every=4, gaps=[10, 20, 30, 20], late=0.9))


def test_a_word_every_so_many_steps_makes_them_no_parts():
    assert not told_by(*clock(every=4, gaps=[20]))
    assert not told_by(*clock(every=4, gaps=[20, 20, 20, 200], late=0.95))


def test_the_same_steps_need_no_chorus_and_others_do():
    said, steps = clock()
    assert not told_by(said, steps)
    elsewhere = Rhythm(said.rhythm.quiet + 200 * MS, 8, 1.0)
    assert told_by(Chorus(elsewhere, said.times + 200 * MS), steps)
    assert not told_by(Chorus(elsewhere, said.times + 215 * MS), steps)  # it asks for what comes next
    narrow = elsewhere.quiet - np.array([0, 10 * MS])
    assert told_by(
        Chorus(elsewhere, said.times + 215 * MS), Rhythm(narrow - 100 * MS, 8, 1.0)
    )  # but the clock's rests are short
    assert told_by(said, Rhythm(steps.quiet[::3], 24, 1.0))
    assert told_by(said, NONE)
    assert not told_by(Chorus(), NONE)
