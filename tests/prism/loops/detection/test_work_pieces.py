import numpy as np
import pytest

from prism.loops.detection.work_pieces import (
    SHARES,
    ByKind,
    by_kind,
    kinds_of,
    levels,
    no_more_than_the_least,
    typical_work,
    typical_works,
)


def of_one(said, work, kind, kinds, ends):
    """Compute `by_kind` of a single rank."""
    found = by_kind(said, work, kind, kinds, np.array([0, len(said)]), ends, np.array([0, len(ends)]))
    return ByKind(*(part[0] for part in found))


def test_typical_work_leaves_out_the_turns_of_a_collective():
    said = np.array([10, 20, 30, 40, 50, 110, 120, 310])
    work = np.array([30, 30, 32, 1, 1, 60, 1, 7])
    ends = np.array([100, 200, 300])
    typical, largest, total = typical_work(said, work, ends)
    assert typical == pytest.approx([30, 60, np.nan], nan_ok=True)
    assert largest == pytest.approx([32, 60, np.nan], nan_ok=True)
    assert total == pytest.approx([94, 61, np.nan], nan_ok=True)


def test_a_wait_is_not_typical_of_a_pipeline():
    """One wait as long as all micro-batches does not increase the work on them; longer work does."""
    pieces = {0: [24, 12, 12, 12, 12], 1: [24, 12, 12, 12, 12], 2: [200, 12, 12, 12, 12], 3: [48, 24, 24, 24, 24]}
    work = np.concatenate([np.array(own) for own in pieces.values()]).astype(np.int64)
    said, ends = np.arange(len(work)), np.arange(4, len(work), 5)
    assert of_one(said, work, said * 0, 1, ends).against.tolist() == pytest.approx([1, 1, 1, 2])
    assert typical_work(said, work, ends)[0].tolist() == [12, 12, 200, 24]


def test_a_piece_that_is_all_of_a_stage_s_work_is_typical_of_it_however_long():
    work = np.array([35, 1, 35, 1, 175, 1])
    assert of_one(np.arange(6), work, np.zeros(6, np.int64), 1, np.array([1, 3, 5])).against.tolist() == pytest.approx(
        [1, 1, 5]
    )


def test_which_kind_of_work_there_is_more_of_says_nothing():
    """Waits in the forward pieces of some steps do not increase a stage's work; longer pieces do."""
    even, fewer, slower = [20, 20, 20, 20, 35, 35], [0, 20, 20, 0, 35, 35], [25, 25, 25, 25, 44, 44]
    work, kinds = np.array([even, fewer, even, slower, even]).ravel(), np.tile([0, 0, 0, 0, 1, 1], 5)
    found = of_one(np.arange(30), work, kinds, 2, np.arange(5, 30, 6))
    assert found.against.tolist() == pytest.approx([1, 1, 1, 1.25, 1], rel=0.02)
    assert typical_work(np.arange(30), work, np.arange(5, 30, 6))[0].tolist() == [20, 35, 20, 25, 20]


def naive_middle(pieces, counts, share=0.5):
    """Return the piece at which it and the larger ones reach a share, by default half."""
    grown = 0.0
    for piece, count in sorted(zip(pieces, counts, strict=True), key=lambda p: -p[0]):
        grown += count
        if grown >= sum(counts) * share:
            return float(piece)
    return 0.0


@pytest.mark.parametrize("seed", range(10))
def test_kinds_as_the_plain_way_says(seed):
    rng = np.random.default_rng(seed)
    work, kind, ends = rng.integers(0, 50, 60), rng.integers(0, 3, 60), np.arange(9, 60, 10)
    found = of_one(np.arange(60), work, kind, 4, ends)
    most = np.median([work[k : k + 10].max() for k in range(0, 60, 10)])
    counts = np.minimum(work, most)
    usual = np.array([naive_middle(work[kind == one], counts[kind == one]) for one in range(4)])
    assert found.usual[:, 1].tolist() == usual.tolist()
    of_other = [naive_middle(work[kind == one], counts[kind == one], share) for one in range(4) for share in SHARES]
    assert found.usual.ravel().tolist() == of_other
    assert found.counts.tolist() == [counts[kind == one].sum() for one in range(4)]
    against = np.array([naive_middle((work / usual[kind])[k : k + 10], counts[k : k + 10]) for k in range(0, 60, 10)])
    assert found.against.tolist() == pytest.approx((against / np.median(against)).tolist())


@pytest.mark.parametrize("seed", range(5))
def test_what_all_ranks_worked_is_what_each_did(seed):
    rng = np.random.default_rng(seed)
    many, steps = rng.integers(0, 60, 4), rng.integers(0, 6, 4)
    begins, cuts = (np.cumsum([0, *sizes]) for sizes in (many, steps))
    said = np.concatenate([np.sort(rng.integers(0, 100, n)) for n in many])
    ends = np.concatenate([np.sort(rng.integers(0, 100, n)) for n in steps])
    work, kind = rng.integers(0, 30, len(said)), rng.integers(0, 3, len(said))
    every = typical_works(said, work, begins, ends, cuts)
    found = by_kind(said, work, kind, 3, begins, ends, cuts)
    assert every.shape[1:] == found.against.shape == (4, max(steps))
    for k in range(4):
        own, until = slice(begins[k], begins[k + 1]), ends[cuts[k] : cuts[k + 1]]
        for one, other in zip(typical_work(said[own], work[own], until), every[:, k], strict=True):
            np.testing.assert_array_equal(other, [*one, *[np.nan] * (max(steps) - len(one))])
        alone = of_one(said[own], work[own], kind[own], 3, until)
        np.testing.assert_array_equal(found.against[k, : len(until)], alone.against)
        assert found.usual[k].tolist() == alone.usual.tolist()
        assert found.counts[k].tolist() == alone.counts.tolist()


def test_a_kind_is_what_was_said_to_how_many_stages_further():
    own, stages, begins = np.array([0, 1, -1]), np.array([0, 1, -1]), np.array([0, 2, 5, 6])
    what = np.array([2, 3, 0, 2, 5, 0])  # twice the code of whom it was said to, and one for a word
    assert kinds_of(what, begins, own, stages, 2).tolist() == [6, 7, 2, 4, 5, 4]


def test_ranks_of_a_group_worked_no_more_than_the_least_of_them():
    work = np.array([[3.0, np.nan], [2.0, np.nan], [5.0, 1.0], [4.0, np.nan]])
    no_more_than_the_least(work, np.array([0, 1, 2, 1]), np.array([0, 2, 4]))
    np.testing.assert_array_equal(work, [[2.0, np.nan], [2.0, 1.0], [2.0, 1.0], [4.0, np.nan]])


def done(forwards, backwards, often=100.0):
    """Build a rank with pieces of one length, or of three."""
    usual = np.stack([np.broadcast_to(np.asarray(kind, np.float64), 3) for kind in (forwards, backwards)])
    return usual, np.array([often, 200.0])


def of_all(*every):
    """Ranks together."""
    return ByKind(np.zeros((len(every), 0)), *map(np.stack, zip(*every, strict=True)))


def test_ranks_alike_are_compared_kind_by_kind():
    """One rank waits more often in forward pieces, one works longer, one has no visible forward work."""
    every = [done(20, 40), done(20, 40, 20.0), done(24, 48), done(0, 40, 0.0)]
    first, second, slow, unseen, other = levels(of_all(*every, done(0, 70, 0.0)), np.array([0, 0, 0, 0, 1]))
    assert first == second == pytest.approx(unseen)
    assert slow == pytest.approx(1.2 * first)
    assert other == pytest.approx(70.0)


def test_pieces_of_two_lengths_say_little_of_who_works_longer():
    """Which of the two lengths is the median depends on how often a rank waited."""
    low, high = done((58, 20, 20), (60, 40, 40)), done((58, 58, 20), (60, 60, 40))
    longer = levels(of_all(low, low, low, high), np.zeros(4, np.int64))
    assert longer == pytest.approx(longer[0])
