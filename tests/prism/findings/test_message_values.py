import math
import re
from dataclasses import replace

import numpy as np
import pytest

from prism.findings.message_values import beside, duration, percent, rate, step_range, steps_take
from tests.prism.faults import FAULTS, case, found_in

BANNED = (" told", " else", "works as long", "works 1", "works 2", " on end", "nobody", "who ", " beat", " said")
USUAL = ("usual", "on comparable", "after its peers")
UNITS = (" ms", " s", "bit/s", "%", "packets")


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (520_000, "0.52 ms"),
        (58.8e6, "58.8 ms"),
        (150.4e6, "150 ms"),
        (1.48e9, "1.48 s"),
        (134e9, "134 s"),
        (math.nan, "an unknown time"),
    ],
)
def test_durations_have_three_digits(ns, text):
    assert duration(ns) == text


def test_a_value_stands_beside_the_usual_one():
    assert beside("58.8 ms", "37.8 ms", 58.8 / 37.8) == "58.8 ms, usually 37.8 ms (1.56×)"
    assert [rate(value) for value in (3.2e3, 48e6, 2.31e9)] == ["3.2 kbit/s", "48 Mbit/s", "2.31 Gbit/s"]
    assert [percent(share) for share in (0, 0.00021, 0.034, 0.56)] == ["0%", "0.021%", "3.4%", "56%"]


def test_steps_have_the_numbers_of_the_job():
    view = case("slow rank")
    assert [step_range(view, 3, stop) for stop in (4, 5, 9)] == ["step 3", "steps 3 and 4", "steps 3 to 8"]
    later = replace(view, timeline=replace(view.timeline, first=500))
    assert [step_range(later, 3, stop) for stop in (4, 9)] == ["step 503", "steps 503 to 508"]
    assert steps_take(later, 2, 4, 2.0).startswith("steps 502 and 503 take ")


@pytest.mark.parametrize("fault", FAULTS)
def test_texts_and_evidence_number_steps_alike_in_every_window(fault):
    """Step numbers of a window that starts at the job's step 500 are greater by 500; all else is equal."""
    view = case(fault)
    moved = replace(view, timeline=replace(view.timeline, first=500))
    for one, other in zip(*(found_in(each) for each in (view, moved)), strict=True):
        assert NUMBERS.sub(lambda found: shifted(found[0]), one.message) == other.message
        for name in {"steps", "step"} & set(one.evidence):
            assert np.all(np.array(one.evidence[name]) + 500 == other.evidence[name])


NUMBERS = re.compile(r"\bsteps? (\d+)(?: (?:to|and) (\d+))?\b")


def shifted(text):
    return re.sub(r"\d+", lambda found: str(int(found[0]) + 500), text)


def test_steps_are_given_with_their_duration_without_the_cause():
    view = case("slow rank")
    text = steps_take(view, 0, 1, 2.0)
    assert text.startswith("step 0 takes ")
    assert steps_take(view, 2, 4, 2.0).startswith("steps 2 and 3 take ")
    assert re.search(r", without it [\d.]+ m?s \(2\.00×\)$", steps_take(view, 2, 4, 2.0))


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_messages_have_numbers_with_units_and_no_odd_words(fault, tcp):
    for finding in found_in(case(fault, tcp=tcp)):
        assert not [word for word in BANNED if word in f" {finding.message}"], finding.message
        assert any(unit in finding.message for unit in UNITS), finding.message
        assert finding.kind == "crash" or any(word in finding.message for word in USUAL), finding.message
