import base64
import zlib
from dataclasses import replace

import numpy as np
import pytest

from prism.storage import _job_history as job_history
from prism.storage._job_history import STEPS, blocks, head, joined, members, part, read_head, read_part, width, written
from prism.views import timeline_views

S = 1_000_000_000


def longer(found, times):
    """A job whose timeline is there so many times, one after another."""
    line = found.timeline
    first = min(int(own[0, 0]) for own in line.steps)
    length = max(int(own[-1, 1]) for own in line.steps) - first
    steps = tuple(np.concatenate([own + i * length for i in range(times)]) for own in line.steps)
    return replace(found, timeline=replace(line, steps=steps)), length


def sorted_spans(told):
    return sorted(zip(*told["spans"].values(), strict=True))


def test_a_job_comes_back_with_all_its_pictures(diagnosis):
    found = diagnosis.jobs[0]
    wide = 3 * S
    texts = [written(part(found, wide, block)) for block in blocks(found.timeline, wide)]
    assert len(texts) > 3
    back = joined(read_head(written(head(found, wide))), map(read_part, reversed(texts)))
    assert timeline_views.steps(back) == timeline_views.steps(found)
    assert timeline_views.steps(back, measure="work") == timeline_views.steps(found, measure="work")
    for level in ("spans", "phases"):
        told, known = (timeline_views.timeline(one, level=level) for one in (back, found))
        assert sorted_spans(told) == sorted_spans(known)
    assert back.parallelism.groups == found.parallelism.groups
    assert back.timeline.events == found.timeline.events
    assert back.job.end_ns <= found.job.end_ns


def test_a_part_does_not_change_when_later_steps_come(diagnosis):
    found, length = longer(diagnosis.jobs[0], 2)
    more, _ = longer(diagnosis.jobs[0], 4)
    wide = length // 4
    old, new = ({n: part(one, wide, n).digest() for n in blocks(one.timeline, wide)} for one in (found, more))
    assert [new[n] == old[n] for n in sorted(old)[:-1]] == [True] * (len(old) - 1)
    assert len(new) > len(old)


def test_parts_of_others_are_left_out(diagnosis):
    found = diagnosis.jobs[0]
    own = [part(found, 3 * S, block) for block in blocks(found.timeline, 3 * S)]
    others = [replace(own[0], members="other"), replace(own[1], width_ns=7), replace(own[0], block=0)]
    back = joined(head(found, 3 * S), [*others, *own])
    assert timeline_views.steps(back) == timeline_views.steps(found)
    assert joined(head(found, 3 * S), others).timeline.steps[0].size == 0
    assert members(found) != members(replace(found, job=replace(found.job, endpoints=found.job.endpoints[::-1])))
    with pytest.raises(ValueError, match="other ranks"):
        joined(head(found, 3 * S), [replace(own[0], steps=own[0].steps[:1])])


def test_how_much_time_a_part_holds_changes_seldom():
    wide = width(1.0 * S)
    assert STEPS * S <= wide <= 2 * STEPS * S
    assert width(1.3 * S, wide) == width(0.5 * S, wide) == wide
    assert width(10.0 * S, wide) > 4 * wide
    assert width(0.01 * S, wide) < wide
    assert width(0.0) > 0


def test_a_part_is_bounded(diagnosis):
    found = diagnosis.jobs[0]
    (block, *_) = blocks(found.timeline, 60 * S)
    whole = part(found, 60 * S, block)
    assert len(whole.spans)
    assert len(whole.phases)
    less = part(found, 60 * S, block, octets=whole.octets - 1)
    assert (len(less.spans), len(less.phases)) == (0, len(whole.phases))
    least = part(found, 60 * S, block, octets=1)
    assert (len(least.spans), len(least.phases)) == (0, 0)
    assert sum(map(len, least.steps)) == sum(map(len, whole.steps))


@pytest.mark.parametrize("text", ["", "x", "{}", "AAAA", base64.b64encode(zlib.compress(b"x" * 99)).decode(), "é"])
def test_anything_else_is_refused(text):
    for read in (read_head, read_part):
        with pytest.raises(ValueError, match=r"."):
            read(text)


def test_a_history_that_would_take_too_much_memory(diagnosis):
    with pytest.raises(ValueError, match="longer than 0 MiB"):
        read_head(written(head(diagnosis.jobs[0], S)), octets=100)
    assert job_history.OCTETS < 1 << 30
