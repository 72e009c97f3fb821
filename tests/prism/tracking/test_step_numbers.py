from dataclasses import replace

import numpy as np
import pytest

from prism.model import NO_PHASES, Timeline
from prism.storage import _job_history as job_history
from prism.tracking.step_numbers import Known, first_of, known, numbers
from prism.tracking.timeline_stitching import job_ends, stitched

STEP = 1_000_000_000
EPOCH = 1_795_214_542_677_184_076


def timeline(first, last, *, ranks=3, off=0):
    """Steps [first, last) of a job, of each rank."""
    ends = EPOCH + off + STEP * np.arange(first + 1, last + 1, dtype=np.int64)
    own = np.stack([ends - STEP, ends], axis=1)
    return Timeline(tuple(own + rank for rank in range(ranks)), (), job_history.NO_SPANS, NO_PHASES)


def times(line):
    """The end of each step by its number."""
    return {line.first + i: int(end) for i, end in enumerate(job_ends(line))}


def test_a_step_has_one_number_in_all_windows_and_when_old_ones_are_forgotten():
    whole, seen = timeline(0, 12), {}
    for begin in range(4, 400, 3):
        window = timeline(begin, begin + 12, off=STEP // 50)
        since = int(window.steps[0][0, 0])
        window = replace(window, first=first_of(window, known(whole, since)))
        assert window.first == begin
        whole = stitched(whole, window, max_steps=40)
        for number, end in times(whole).items():
            assert abs(seen.setdefault(number, end) - end) < STEP / 4
        last = np.array(list(times(window).values()))
        assert np.abs(last - [times(whole)[number] for number in times(window)]).max() < STEP / 4
    assert len(times(whole)) == 40
    assert whole.first == begin + 12 - 40


def test_numbers_are_the_same_after_a_restart(make_job):
    """A history of which old parts are gone counts on from where it was, whatever their numbers were."""
    found = replace(make_job(ranks=3, steps=2), timeline=replace(timeline(0, 50), first=200))
    wide = 8 * STEP
    texts = [job_history.written(job_history.part(found, wide, block)) for block in job_history.blocks(found.timeline, wide)]
    parts = [job_history.read_part(text) for text in texts[2:]]
    head = job_history.read_head(job_history.written(job_history.head(found, wide)))
    gone = len(times(found.timeline)) - sum(len(part.steps[0]) for part in parts)
    assert gone > 2
    for some in (parts, [replace(part, first=7) for part in parts[:-1]] + parts[-1:]):
        again = job_history.joined(head, some).timeline
        assert times(again) == {number: end for number, end in times(found.timeline).items() if number >= 200 + gone}
        window = timeline(40, 60)
        assert first_of(window, known(again, int(window.steps[0][0, 0]))) == 240


@pytest.mark.parametrize("missing", [slice(0, 3), slice(7, 10), slice(4, 5)])
def test_a_rank_that_lacks_steps_has_the_numbers_of_those_it_has(missing):
    line = replace(timeline(0, 10), first=7)
    own = np.delete(line.steps[1], missing, axis=0)
    line = replace(line, steps=(line.steps[0], own, line.steps[2]))
    assert numbers(line, 0).tolist() == list(range(7, 17))
    assert numbers(line, 1).tolist() == np.delete(np.arange(7, 17), missing).tolist()
    assert numbers(replace(line, steps=(line.steps[0], own[:0], line.steps[2])), 1).tolist() == []


def test_a_window_that_begins_before_all_that_is_known_counts_back():
    whole = replace(timeline(20, 30), first=20)
    window = timeline(15, 32)
    window = replace(window, first=first_of(window, known(whole, int(window.steps[0][0, 0]))))
    assert window.first == 15
    assert times(stitched(whole, window, max_steps=12)) == {n: end for n, end in times(window).items() if n >= 20}
    assert first_of(timeline(15, 32), known(timeline(20, 30), 0)) == 0  # no number is below zero


def test_what_follows_nothing_known_counts_on():
    window = timeline(5, 9)
    assert first_of(window, Known(np.zeros(0, np.int64), 3)) == 3
    assert first_of(window, Known(job_ends(timeline(0, 2)), 3)) == 5  # a gap in collection
    assert first_of(timeline(5, 5), Known(job_ends(timeline(0, 2)), 3)) == 5
