"""Remarks of people on findings (acknowledged, right, false, note), and their summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Act = Literal["acknowledge", "release", "right", "false", "note"]
ACTS: tuple[Act, ...] = get_args(Act)
MAX_CHARACTERS = 4000  # characters of a note
MARKS = ("right", "false")


@dataclass(frozen=True)
class Remark:
    """A remark of a person on a case (`at_ns`: wall clock).

    `release` takes an acknowledgment back. `known`: the finding and its job at that time, as plain values.
    """

    id: str
    case: str
    act: Act
    at_ns: int
    by: str = ""
    text: str = ""
    known: Mapping[str, Any] = field(default_factory=dict)

    @property
    def severity(self) -> str:
        """Severity of the finding at that time."""
        return str(self.known.get("finding", {}).get("severity", ""))


@dataclass(frozen=True)
class Standing:
    """Summary of the remarks on a case: newest acknowledgment, newest verdict, all notes."""

    acknowledged: Remark | None = None
    verdict: Remark | None = None
    remarks: tuple[Remark, ...] = ()


def standing(remarks: Iterable[Remark]) -> Standing:
    """Summarise the remarks of a case."""
    ordered = tuple(sorted(remarks, key=lambda one: (one.at_ns, one.id)))
    care = next((one for one in reversed(ordered) if one.act in ("acknowledge", "release")), None)
    mark = next((one for one in reversed(ordered) if one.act in MARKS), None)
    return Standing(care if care is not None and care.act == "acknowledge" else None, mark, ordered)


def clean_note(text: str) -> str:
    """Clean a note: no control characters except line ends, at most `MAX_CHARACTERS` characters."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text.strip()[:MAX_CHARACTERS])


def to_json(remark: Remark) -> dict[str, Any]:
    """Convert a remark to plain values for REST."""
    return {"id": remark.id, "act": remark.act, "at_ns": str(remark.at_ns), "by": remark.by, "text": remark.text}


def labelled_findings(remarks: Iterable[Remark]) -> list[dict[str, Any]]:
    """List marked findings with their newest mark, as labelled data for calibration.

    `confidence`: the claim; `right`: the truth; `evidence`: of the detector.
    """
    by_case: dict[str, list[Remark]] = {}
    for one in remarks:
        by_case.setdefault(one.case, []).append(one)
    rows = [_label(found.verdict) for own in by_case.values() if (found := standing(own)).verdict is not None]
    return sorted(rows, key=lambda row: (int(row["at_ns"]), row["case"]))


def _label(mark: Remark | None) -> dict[str, Any]:
    assert mark is not None
    finding, job = mark.known.get("finding", {}), mark.known.get("job") or {}
    names = (
        "detector",
        "kind",
        "severity",
        "start_ns",
        "end_ns",
        "slowdown",
        "score",
        "confidence",
        "lost_gpu_seconds",
        "message",
    )
    subject = finding.get("subject", {})
    return {
        "case": mark.case,
        "right": mark.act == "right",
        "at_ns": str(mark.at_ns),
        "by": mark.by,
        "text": mark.text,
        **{name: finding.get(name) for name in names},
        "subject": subject.get("type"),
        "ids": list(subject.get("ids", ())),
        "job": finding.get("job"),
        "job_name": job.get("name"),
        "ranks": job.get("endpoints"),
        "layout": job.get("layout"),
        "evidence": finding.get("evidence", {}),
    }
