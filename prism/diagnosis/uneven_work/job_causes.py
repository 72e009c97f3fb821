"""Describe a cause of lost time without a broken part, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prism.diagnosis import constants as c
from prism.graph.job_view import View
from prism.model import FindingKind, SubjectType


@dataclass(frozen=True)
class JobCause:
    """A cause that lies in the job: subject, steps, ratio of a step to the same step without it, probability, text, numbers."""

    kind: FindingKind
    subject: SubjectType
    ids: tuple[str, ...]
    start: int
    stop: int
    slowdown: float
    probability: float
    score: float
    text: str
    numbers: dict[str, Any]
    claim: bool = True


def slowdown_of(view: View, saved: float) -> float:
    """Ratio of a step to one that is shorter by `saved`, ns."""
    return view.period / max(view.period - max(saved, 0.0), c.LEAST * view.period, 1.0)
