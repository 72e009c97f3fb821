"""Detect events of a job that are no fault: start, stop, evaluation, checkpoint, restart."""

from __future__ import annotations

from dataclasses import replace

from collectors.columns.record import SYN
from prism.graph.job_steps import unevenness
from prism.graph.job_view import Pause, View
from prism.loops.detection.connection_ends import closings
from prism.model import Event, EventKind, Finding
from prism.steps import constants as c


def events(view: View, findings: list[Finding], window: tuple[int, int]) -> tuple[Event, ...]:
    """Detect the events of one job, in order of time. Silences that `findings` of kind "hang" explain are excluded.

    A job starts or stops if connections open or close then, or if the `window` of observation, ns, extends more than one step
    beyond its traffic. A pause is a restart if members open connections. It is a checkpoint if they send more than the share
    `WRITTEN` of a step's octets to endpoints outside the job, else an evaluation.
    """
    out = _start_and_stop(view, window)
    hung = [(f.start_ns, f.end_ns) for f in findings if f.kind == "hang"]
    for pause in view.pauses:
        if not any(low <= pause.start and pause.end <= high for low, high in hung):
            out.append(Event(_kind(view, pause), pause.start, pause.end))
    return tuple(sorted(out, key=lambda event: (event.start_ns, event.kind)))


def uneven(view: View) -> float:
    """Unevenness of the steps without their pauses (`unevenness`)."""
    durations = view.durations.copy()
    for pause in view.pauses:
        durations[pause.step] -= pause.end - pause.start
    return min(view.uneven, unevenness(durations))


def after_pauses(view: View, findings: list[Finding]) -> list[Finding]:
    """Shift findings of steps that a pause delayed at their begin, for example a checkpoint: they begin after the pause.

    A pause delays the begin if it starts within the share `AT_BEGIN` of a usual step. `paused_ms` in the evidence is the delay.
    """
    pause_end = {
        int(view.begins[p.step]): p.over for p in view.pauses if p.start - view.begins[p.step] <= c.AT_BEGIN * view.period
    }
    return [_delayed(f, min(pause_end[f.start_ns], f.end_ns - f.start_ns)) if f.start_ns in pause_end else f for f in findings]


def _delayed(finding: Finding, by_ns: int) -> Finding:
    evidence = {**finding.evidence, "paused_ms": round(by_ns / 1e6, 3)}
    return replace(finding, start_ns=finding.start_ns + by_ns, evidence=evidence)


def _start_and_stop(view: View, window: tuple[int, int]) -> list[Event]:
    job, flows, out = view.job, view.flows, []
    opened = flows.start_ns[(flows.tcp_flags & SYN) != 0]
    closed = flows.start_ns[closings(flows)]
    if job.start_ns - window[0] > view.period or (opened <= job.start_ns + view.period).any():
        out.append(Event("start", job.start_ns, job.start_ns))
    if window[1] - job.end_ns > view.period or (closed >= job.end_ns - view.period).any():
        out.append(Event("stop", job.end_ns, job.end_ns))
    return out


def _kind(view: View, pause: Pause) -> EventKind:
    flows, around, start, end = view.flows, view.around, pause.start, pause.end
    opened = (flows.tcp_flags & SYN != 0) & (flows.start_ns >= start) & (flows.start_ns <= end)
    if opened.any():
        return "restart"
    members = around.among(view.job.endpoints)
    is_outgoing = members[around.src] & ~members[around.dst] & (around.start_ns >= start) & (around.start_ns <= end)
    step = float(flows.octets.sum()) / max(len(view.ends), 1)
    return "checkpoint" if float(around.octets[is_outgoing].sum()) > c.WRITTEN * step else "evaluation"
