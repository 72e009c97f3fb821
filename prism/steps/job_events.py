"""Things a job did that are no fault: it started, paused for an evaluation or a checkpoint, was restarted, stopped."""

from __future__ import annotations

from dataclasses import replace

from collectors.columns.record import SYN
from prism.graph.job_steps import unevenness
from prism.graph.job_view import Pause, View
from prism.loops.detection.connection_ends import closings
from prism.model import Event, EventKind, Finding


def events(view: View, findings: list[Finding], window: tuple[int, int], *, written: float = 0.01) -> tuple[Event, ...]:
    """Events of one job in order of time; silences that a hang explains are none.

    A job started, or stopped, if it opened or closed connections then, or if the `window` of what was seen, ns, goes on for
    more than a step beyond its traffic.

    A pause is a checkpoint if members meanwhile sent others more than the share `written` of what a step moves, a restart if
    they opened connections.
    """
    out = _ends(view, window)
    hung = [(f.start_ns, f.end_ns) for f in findings if f.kind == "hang"]
    for pause in view.pauses:
        if not any(low <= pause.start and pause.end <= high for low, high in hung):
            out.append(Event(_kind(view, pause, written), pause.start, pause.end))
    return tuple(sorted(out, key=lambda event: (event.start_ns, event.kind)))


def uneven(view: View) -> float:
    """How uneven the steps of a job are but for its pauses (`unevenness`)."""
    lengths = view.durations.copy()
    for pause in view.pauses:
        lengths[pause.step] -= pause.end - pause.start
    return min(view.uneven, unevenness(lengths))


def after_pauses(view: View, findings: list[Finding], *, near: float = 0.1) -> list[Finding]:
    """Findings, those of steps that a pause delayed from the start, as a checkpoint does, from when it had.

    That begins with the step: within the share `near` of a usual one. `paused_ms` of their evidence is how long it delayed.
    """
    over = {int(view.begins[p.step]): p.over for p in view.pauses if p.start - view.begins[p.step] <= near * view.period}
    return [_delayed(f, min(over[f.start_ns], f.end_ns - f.start_ns)) if f.start_ns in over else f for f in findings]


def _delayed(finding: Finding, by_ns: int) -> Finding:
    evidence = {**finding.evidence, "paused_ms": round(by_ns / 1e6, 3)}
    return replace(finding, start_ns=finding.start_ns + by_ns, evidence=evidence)


def _ends(view: View, window: tuple[int, int]) -> list[Event]:
    job, flows, out = view.job, view.flows, []
    opened = flows.start_ns[(flows.tcp_flags & SYN) != 0]
    closed = flows.start_ns[closings(flows)]
    if job.start_ns - window[0] > view.period or (opened <= job.start_ns + view.period).any():
        out.append(Event("start", job.start_ns, job.start_ns))
    if window[1] - job.end_ns > view.period or (closed >= job.end_ns - view.period).any():
        out.append(Event("stop", job.end_ns, job.end_ns))
    return out


def _kind(view: View, pause: Pause, written: float) -> EventKind:
    flows, around, start, end = view.flows, view.around, pause.start, pause.end
    opened = (flows.tcp_flags & SYN != 0) & (flows.start_ns >= start) & (flows.start_ns <= end)
    if opened.any():
        return "restart"
    members = around.among(view.job.endpoints)
    away = members[around.src] & ~members[around.dst] & (around.start_ns >= start) & (around.start_ns <= end)
    step = float(flows.octets.sum()) / max(len(view.ends), 1)
    return "checkpoint" if float(around.octets[away].sum()) > written * step else "evaluation"
