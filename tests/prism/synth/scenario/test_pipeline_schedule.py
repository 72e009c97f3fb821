import pytest

from prism.synth.scenario.pipeline_schedule import levels

CASES = [
    ("1f1b", 4, 8, 1),
    ("1f1b", 4, 2, 1),
    ("gpipe", 3, 5, 1),
    ("interleaved", 4, 8, 2),
    ("interleaved", 2, 4, 3),
    ("1f1b", 1, 3, 1),
]


@pytest.mark.parametrize(("schedule", "stages", "micro", "chunks"), CASES)
def test_every_task_is_done_once_after_what_it_needs(schedule, stages, micro, chunks):
    at = {}
    for number, level in enumerate(levels(schedule, stages, micro, chunks)):
        assert len({t.stage for t in level}) == len(level)
        for task in level:
            assert task not in at
            at[task] = number
    assert len(at) == 2 * stages * micro * chunks
    when = {(t.back, t.micro, t.virtual): number for t, number in at.items()}
    for (back, m, v), number in when.items():
        before = (True, m, v + 1) if back and v + 1 < stages * chunks else (False, m, v if back else v - 1)
        assert before[2] < 0 or when[before] < number


def test_1f1b_keeps_fewer_micro_batches_in_flight_than_gpipe():
    def most(schedule):
        flying, peak = 0, 0
        for level in levels(schedule, 4, 16, 1):
            flying += sum(-1 if t.back else 1 for t in level if t.stage == 0)
            peak = max(peak, flying)
        return peak

    assert (most("1f1b"), most("gpipe")) == (4, 16)


def test_interleaving_needs_whole_rounds():
    with pytest.raises(ValueError, match="multiple of the stages"):
        levels("interleaved", 4, 6, 2)
