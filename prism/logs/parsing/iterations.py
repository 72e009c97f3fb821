"""Read the iteration, and its duration if given, from progress lines of frameworks."""

from __future__ import annotations

import re
from typing import NamedTuple


class Mark(NamedTuple):
    """A progress line. `iteration` is -1 if the line has none; `step_s` is 0 without a duration."""

    number: int  # of the line
    iteration: int
    time_ns: int | None
    step_s: float = 0.0


_FORMS = (
    re.compile(r"\biteration +(\d+)/ *\d+ \|"),  # Megatron
    re.compile(r"\bstep=(\d+), skipped="),  # DeepSpeed
    re.compile(r"\bglobal_step[=:] ?(\d+)(?![\d.]*e)"),  # NeMo, DeepSpeed's timer
    re.compile(r'"step_num": ?(\d+)'),  # MLPerf
    re.compile(r"\| *(\d+)/\d+ \[\d[\d:]*<"),  # tqdm: Hugging Face, Lightning
    re.compile(r"\[ *(\d+)/\d+\] +(?:eta|Time|time|lr)"),  # torchvision, mmengine
    re.compile(r"(?i)\b(?:global[ _])?(?:step|iter|iteration)\b[ =:]{1,3}(\d+)(?!\S*[.:]\d)"),
)
_TRAINS = re.compile(
    r"(?i)\bloss\b|train_loss|grad[ _]norm|learning[ _]rate|\blr\b|\d+/\d+ \[\d|"
    r"elapsed time per iteration|skipped=|samples|tokens/s"
)
_DURATIONS = (
    (re.compile(r"elapsed time per iteration \(ms\): *([\d.]+)"), 1e-3),
    (re.compile(r"train_step_timing in s=([\d.]+)"), 1.0),
    (re.compile(r"(?i)\bstep[ _]time[^\d]{1,8}([\d.]+) ?s\b"), 1.0),
    (re.compile(r"\btime ([\d.]+)s\b"), 1.0),
)


def iteration(text: str) -> int | None:
    """Parse the iteration of a progress line, or None for other lines."""
    if not _TRAINS.search(text):
        return None
    found = next((found for form in _FORMS if (found := form.search(text))), None)
    return int(found[1]) if found and len(found[1]) < 13 else None


def duration_s(text: str) -> float:
    """Parse the duration of an iteration from a progress line, s; 0 if there is none."""
    for form, unit in _DURATIONS:
        if (found := form.search(text)) and found[1].count(".") < 2 and found[1] != ".":
            return float(found[1]) * unit
    return 0.0
