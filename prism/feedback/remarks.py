"""What people say of a finding: acknowledged, right, false, a note; and what that comes to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Act = Literal["acknowledge", "release", "right", "false", "note"]
ACTS: tuple[Act, ...] = get_args(Act)
LONGEST = 4000  # characters of a note
MARKS = ("right", "false")


@dataclass(frozen=True)
class Remark:
    """What `by` said of a case at a time (wall clock, ns).

    `release` takes an acknowledgment back. `known` is the finding and its job as they were then, plain values.
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
        """How bad the finding was then."""
        return str(self.known.get("finding", {}).get("severity", ""))


@dataclass(frozen=True)
class Standing:
    """What remarks on one case come to: who takes care of it, whether it is right or false, notes; each the newest."""

    acknowledged: Remark | None = None
    verdict: Remark | None = None
    remarks: tuple[Remark, ...] = ()


def standing(remarks: Iterable[Remark]) -> Standing:
    """The standing of a case, of its remarks."""
    ordered = tuple(sorted(remarks, key=lambda one: (one.at_ns, one.id)))
    care = next((one for one in reversed(ordered) if one.act in ("acknowledge", "release")), None)
    mark = next((one for one in reversed(ordered) if one.act in MARKS), None)
    return Standing(care if care is not None and care.act == "acknowledge" else None, mark, ordered)


def cleaned(text: str) -> str:
    """A note without control characters but line ends, at most `LONGEST` characters."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text.strip()[:LONGEST])


def to_json(one: Remark) -> dict[str, Any]:
    """A remark as REST tells it."""
    return {"id": one.id, "act": one.act, "at_ns": str(one.at_ns), "by": one.by, "text": one.text}


def labelled(remarks: Iterable[Remark]) -> list[dict[str, Any]]:
    """Findings that were marked, one row each with the newest mark: what they claimed, and whether that was right.

    For calibration: `confidence` is what was said, `right` what was so; `evidence` is what the detector saw.
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
