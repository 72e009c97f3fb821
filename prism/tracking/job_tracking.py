"""Track jobs from window to window: members, step duration, state.

A single window may be wrong: half of the ranks have sent nothing yet, or parts of steps look like steps. So a job is trusted
once several windows in a row agree on its members and on its step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from collectors.columns.record import Flows
from prism.jobs import rows_of
from prism.model import Job, JobDiagnosis, Spans, Timeline
from prism.tracking.board import JobState
from prism.tracking.identity import Marks, distinct, marks, recognised
from prism.tracking.record_windows import SECOND, steps_back
from prism.tracking.substeps import checked_period, may_be_pausing, reach, steps_differ
from prism.tracking.timeline_stitching import job_ends, latest_end, stitched

AGREE, LAYOUTS = 3, 9  # windows
KNOWN_S = 4.0  # seconds for which its members must be known before windows agree on anything
FULL = 24  # steps of a window that shows a layout as well as any longer one


@dataclass(frozen=True, eq=False)
class Followed:
    """A tracked job. A window that ended at `met_ns` was the first to see it with its members.

    `found`: diagnosis with the stitched timeline. `step_ns`: step that windows agreed on, 0 before. `lately`: steps of the
    newest windows. `other`: members that the newest windows saw instead. `missed`: windows in a row that did not recognise it.
    """

    job: Job
    met_ns: int
    found: JobDiagnosis | None = None
    step_ns: float = 0.0
    lately: tuple[float, ...] = ()
    other: tuple[Job, ...] = ()
    missed: int = 0
    talked_ns: int = 0
    state: JobState = "running"
    layouts: tuple[tuple[tuple[int, ...], float], ...] = ()  # layout and its confidence in the newest windows
    told_by: int = 0  # steps of the longest of those windows
    doubtful: bool = False  # steps or layout of the newest window differ from those before
    doubted_ns: int = 0  # when that happened first, unless enough windows since agree; 0 if none differs
    sure: int = 0  # windows in a row that agree
    looked_ns: int = 0  # when its newest window ended
    asked_ns: float = 0.0  # windows contained pauses with a period up to this, and their steps are no parts of longer steps
    anew_ns: int = 0  # when windows agreed on other steps: those before were parts of them, or had them as parts

    @property
    def id(self) -> str:
        """Id of the job."""
        return self.job.id

    @property
    def unclear(self) -> bool:
        """Whether the newest window has no result: another layout with low confidence."""
        return self.doubtful and not self.doubted_ns

    @property
    def trusted(self) -> bool:
        """Whether windows have agreed on its step."""
        return self.step_ns > 0

    def since(self, now_ns: int, search_ns: int, most_ns: int, held_ns: int = 0) -> int:
        """Begin of its next window, ns: with an observed step, a number of steps back; `search_ns` ago if no steps are known.

        All ranks have ended a step there: transfers that are cut would count in the next step. It grows up to `most_ns` if such
        a window has too few steps or is doubted. It begins earlier if the steps may be parts of steps (`substeps.reach`) and
        records are held since `held_ns`; one window that contains enough pauses suffices.
        """
        ends = job_ends(self.found.timeline) if self.found is not None and self.trusted else np.zeros(0, np.int64)
        if not self.trusted:
            shown = self.lately[-1] if self.lately else 0.0
            enough = 0 < steps_back(shown) * shown <= search_ns
            return now_ns - (search_ns if enough else min(search_ns + now_ns - self.met_ns, most_ns))
        back = steps_back(self.step_ns)
        begin = now_ns - int(back * self.step_ns)
        if len(ends) > 1 and self.found is not None:
            begin = latest_end(self.found.timeline, -1 - back) if len(ends) > back else int(self.job.start_ns)
        if self.doubted_ns:
            begin = min(begin, max(self.doubted_ns - int(back * self.step_ns), now_ns - most_ns))
        sooner = reach(ends, now_ns, self.asked_ns, search_ns, most_ns)
        return min(begin, sooner) if sooner >= held_ns else begin

    def can_wait(self, now_ns: int, search_ns: int, most_ns: int, *, parts: int = 32) -> bool:
        """Check whether the next window can wait, because it would show little more than the last one.

        A window of `search_ns` cannot. For longer ones, one per 1 / `parts` of the growth is enough.
        """
        grown = now_ns - self.since(now_ns, search_ns, most_ns) - search_ns
        unsure = not self.trusted or self.doubted_ns > 0
        return unsure and 0 <= now_ns - self.looked_ns < grown / parts


class RecordRange(NamedTuple):
    """Records that start in [since, until), ns: those between `endpoints`, or all if there are none."""

    since_ns: int
    until_ns: int
    endpoints: tuple[str, ...] = ()


def past(followed: Iterable[Followed], until_ns: int, search_ns: int, most_ns: int) -> Iterator[RecordRange]:
    """Yield the records before a time that the next windows need: all for job search, older ones only for jobs with longer
    windows, up to `most_ns`. Ended jobs need none.
    """
    since = until_ns - search_ns
    yield RecordRange(since, until_ns)
    for one in followed:
        begin = max(one.since(until_ns, search_ns, most_ns), until_ns - most_ns)
        if one.trusted and one.state != "ended" and begin < since:
            yield RecordRange(begin, since, one.job.endpoints)


def active_jobs(followed: Iterable[Followed]) -> tuple[Followed, ...]:
    """Select the jobs that have not ended. A job on the endpoints of an ended one is another job."""
    return tuple(one for one in followed if one.state != "ended")


def recently_ended(followed: Iterable[Followed], *, max_jobs: int = 200) -> tuple[Followed, ...]:
    """Select the jobs that ended last, at most `max_jobs`."""
    over = sorted((one for one in followed if one.state == "ended"), key=lambda one: one.talked_ns)
    return tuple(over[-max_jobs:])


def with_recognized(
    followed: Sequence[Followed], jobs: Sequence[Job], now_ns: int, *, taken: Sequence[str] = ()
) -> tuple[Followed, ...]:
    """Update the tracked jobs with recognised ones: add new jobs; keep ids and members until several windows agree.

    No new job gets an id that is `taken`.
    """
    whole = [set(job.endpoints) for job in jobs]
    followed = [one for one in followed if not any(set(one.job.endpoints) < members for members in whole) or one.trusted]
    before = {one.id: marks(one.found) if one.found else Marks(frozenset(one.job.endpoints)) for one in followed}
    names = recognised(before, [Marks(frozenset(job.endpoints)) for job in jobs])
    seen_as = {name: job for name, job in zip(names, jobs, strict=True) if name is not None}
    out = [_seen(one, seen_as.get(one.id), now_ns) for one in followed]
    new_jobs = [job for name, job in zip(names, jobs, strict=True) if name is None]
    return tuple(one for one in out if one is not None) + tuple(
        Followed(job, now_ns) for job in distinct(new_jobs, (*taken, *(one.id for one in followed)))
    )


def _seen(one: Followed, job: Job | None, now_ns: int) -> Followed | None:
    """Update a job that a window recognised as `job`, or not (None); None if it is dropped."""
    if job is None:
        silent = one.trusted and one.state != "running"  # a silent job cannot be recognised
        return replace(one, missed=0 if silent else one.missed + 1) if one.missed < AGREE else None
    if job.endpoints == one.job.endpoints:
        return replace(one, missed=0, other=())
    other = (*one.other, job) if not one.other or one.other[-1].endpoints == job.endpoints else (job,)
    if one.trusted and len(other) < AGREE:
        return replace(one, missed=0, other=other)
    moved = replace(job, id=one.id)
    found = None if one.found is None else replace(one.found, job=moved, timeline=placed(one.found.timeline, one.job, moved))
    met = one.met_ns if one.trusted else now_ns
    return replace(one, job=moved, met_ns=met, found=found, missed=0, other=(), lately=(), layouts=(), told_by=0)


def analysed(jobs: Iterable[Followed]) -> dict[str, JobDiagnosis]:
    """Return the diagnoses of trusted jobs, by id."""
    return {one.id: one.found for one in jobs if one.found is not None and one.trusted}


def placed(timeline: Timeline, before: Job, current: Job) -> Timeline:
    """Reorder a timeline by the ranks of a job whose members changed; new ranks have no steps yet."""
    place = {address: i for i, address in enumerate(current.endpoints)}
    to = np.array([place.get(address, -1) for address in before.endpoints] or [-1], np.int32)
    steps = [np.zeros((0, 2), np.int64)] * len(place)
    for i, own in enumerate(timeline.steps):
        if to[i] >= 0:
            steps[to[i]] = own
    spans, phases = timeline.spans, timeline.phases
    rows, slots = to[spans.rank] >= 0, to[phases.rank] >= 0
    peer = np.where(spans.peer >= 0, to[spans.peer], -1).astype(np.int32)
    octets = spans.octets[rows] if len(spans.octets) == len(spans) else spans.octets
    moved = Spans(spans.start_ns[rows], spans.end_ns[rows], to[spans.rank][rows], spans.phase[rows], peer[rows], octets)
    columns: dict[str, Any] = {name: getattr(phases, name)[slots] for name in ("start_ns", "end_ns", "step", "phase")}
    placed = replace(phases, rank=to[phases.rank][slots], **columns)
    return replace(timeline, steps=tuple(steps), spans=moved, phases=placed)


def around(flows: Flows, job: Job) -> np.ndarray:
    """Indices of the records with at least one end in the job."""
    members = np.isin(np.array(flows.endpoints), job.endpoints)
    return np.flatnonzero(members[flows.src] | members[flows.dst]) if len(members) else np.zeros(0, np.intp)


def locate_job(job: Job, flows: Flows) -> Job | None:
    """Return the job with the time of its payload in `flows`; None if it has none."""
    rows = rows_of(flows, job) if len(flows) else np.zeros(0, np.intp)
    rows = rows[~flows.control()[rows]] if len(rows) else rows
    if not len(rows):
        return None
    return replace(job, start_ns=int(flows.start_ns[rows].min()), end_ns=int(flows.end_ns[rows].max()))


def after(
    followed: Followed,
    found: JobDiagnosis,
    now_ns: int,
    *,
    kept: int,
    apart: float = 0.4,
    known_s: float = KNOWN_S,
    last: bool = False,
    whole: float = 0.75,
    half: float = 0.5,
) -> Followed:
    """Update a job after a window.

    Steps that differ by more than `apart` (logarithm) from the agreed step are doubted until windows agree on them. A layout is
    doubted until it has most of the newest windows, weighted by confidence. A different layout is ignored if the window has far
    fewer steps (after a restart), or less than `half` of the confidence (a window that ends inside a step).

    Nothing is agreed before the members have been known for `known_s`, or while steps may be parts of steps
    (`substeps.may_be_pausing`). The `last` window of all is trusted for a job without any other.
    """
    ends = job_ends(found.timeline)
    step = float(np.median(np.diff(ends))) if len(ends) > 2 else 0.0
    lately = (*followed.lately, step)[-AGREE:]
    talked = max(followed.talked_ns, found.job.end_ns)
    agreed = len(lately) == AGREE and min(lately) > 0 and np.ptp(np.log(lately)) < apart and len(ends) > AGREE
    agreed = (
        agreed
        and now_ns - followed.met_ns >= known_s * SECOND
        and (followed.trusted or not may_be_pausing(ends, talked, now_ns))
    )
    if last and not followed.trusted and step > 0 and len(ends) > AGREE:
        agreed, followed, lately = True, replace(followed, layouts=(), told_by=0), (step,)
    strange = step <= 0 or (followed.trusted and abs(float(np.log(step / followed.step_ns))) > apart)
    if strange and agreed:  # layouts with other steps do not apply; a window has fewer of these steps
        followed = replace(followed, layouts=(), told_by=0)
    layout = marks(found).layout
    layouts = followed.layouts
    if len(ends) >= whole * followed.told_by or layout == favoured(layouts):
        layouts = (*layouts, (layout, max(found.parallelism.layout.confidence, 0.05)))[-LAYOUTS:]
    if followed.trusted and not strange:
        known = checked_period(ends, now_ns - found.job.start_ns, followed.asked_ns)
        followed = replace(followed, told_by=min(max(followed.told_by, len(ends)), FULL), asked_ns=known)
    sure = max((sure for known, sure in layouts if known == favoured(layouts)), default=0.0)
    unsure = favoured(layouts) != layout and found.parallelism.layout.confidence < half * sure
    if unsure and followed.trusted and not strange and not followed.doubted_ns:
        return replace(followed, job=_lasting(followed, found), layouts=layouts, talked_ns=talked, doubtful=True)
    if (strange and not agreed) or favoured(layouts) != layout:
        unknown_yet = None if followed.trusted else found  # the state before a restart is better than a doubted one
        kept_as = replace(followed.found, job=_lasting(followed, found)) if followed.found else unknown_yet
        job = _lasting(followed, found)
        return doubted(replace(followed, found=kept_as, lately=lately, layouts=layouts, talked_ns=talked, job=job), now_ns)
    timeline = found.timeline
    before = followed.found.timeline if followed.found is not None and followed.trusted else None
    if before is not None and strange and steps_differ(job_ends(before), ends, apart):
        followed = replace(followed, anew_ns=now_ns, asked_ns=0.0)  # the earlier steps are no past of these
    elif before is not None:
        timeline = stitched(before, timeline, max_steps=kept)
    trusted = float(np.median([s for s in lately if s > 0])) if agreed else followed.step_ns
    job = _lasting(followed, found)
    return replace(
        followed,
        job=job,
        found=replace(found, job=job, timeline=timeline),
        step_ns=trusted,
        lately=lately,
        layouts=layouts,
        talked_ns=talked,
        doubtful=False,
        doubted_ns=followed.doubted_ns if followed.sure + 1 < AGREE else 0,
        sure=followed.sure + 1,
    )


def doubted(followed: Followed, now_ns: int) -> Followed:
    """Mark a job as doubted after a window."""
    return replace(followed, doubtful=True, doubted_ns=followed.doubted_ns or now_ns, sure=0)


def favoured(layouts: Sequence[tuple[tuple[int, ...], float]]) -> tuple[int, ...]:
    """Return the layout of most windows, weighted by confidence; of equals the newest."""
    votes: dict[tuple[int, ...], float] = {}
    for layout, sure in layouts:
        votes[layout] = votes.get(layout, 0.0) + sure
    return max(reversed([layout for layout, _ in layouts]), key=lambda layout: votes[layout], default=())


def _lasting(one: Followed, found: JobDiagnosis) -> Job:
    """Return the job with the time of all its windows."""
    start = one.job.start_ns if one.found is not None else found.job.start_ns
    return replace(found.job, start_ns=min(start, found.job.start_ns), end_ns=max(one.job.end_ns, found.job.end_ns))


def unknown(flows: Flows, followed: Iterable[Followed]) -> float:
    """Share of the payload in `flows` that is not between two members of one tracked job."""
    octets = np.where(flows.control(), 0, flows.octets) if len(flows) else np.zeros(0)
    if not octets.any():
        return 0.0
    inside = np.zeros(len(flows), np.bool_)
    names = np.array(flows.endpoints)
    for one in followed:
        if one.trusted and not one.other:
            members = np.isin(names, one.job.endpoints)
            inside |= members[flows.src] & members[flows.dst]
    return float(1 - octets[inside].sum() / octets.sum())


def by_id(followed: Iterable[Followed]) -> Mapping[str, Followed]:
    """Return the jobs by id."""
    return {one.id: one for one in followed}
