"""Things a job did that are no fault: it started, paused for an evaluation or a checkpoint, was restarted, stopped."""

from __future__ import annotations

import numpy as np

from collectors.record import FIN, RST, SYN
from prism.detectors.steps import unevenness
from prism.detectors.view import View
from prism.kernels.intervals import union
from prism.kernels.sums import highest
from prism.model import Event, EventKind, Finding


def events(
    view: View, findings: list[Finding], window: tuple[int, int], *, longer: float = 0.25, written: float = 0.01
) -> tuple[Event, ...]:
    """Events of one job in order of time; silences that a hang explains are none.

    A job started, or stopped, if it opened or closed connections then, or if the `window` of what was seen, ns, goes on for
    more than a step beyond its traffic.

    A pause is a silence of the whole job that made a step `longer` (a share of a step) than usual. It is a checkpoint if
    members meanwhile sent others more than the share `written` of what a step moves, a restart if they opened connections.
    """
    out = _ends(view, window)
    hung = [(f.start_ns, f.end_ns) for f in findings if f.kind == "hang"]
    for start, end in _pauses(view, longer):
        if not any(low <= start and end <= high for low, high in hung):
            out.append(Event(_kind(view, start, end, written), start, end))
    return tuple(sorted(out, key=lambda event: (event.start_ns, event.kind)))


def uneven(view: View, *, longer: float = 0.25) -> float:
    """How uneven the steps of a job are but for its pauses (`unevenness`)."""
    lengths = view.durations.copy()
    for start, end in _pauses(view, longer):
        lengths[view.step_of(np.array([end]))] -= end - start
    return min(view.uneven, unevenness(lengths))


def _ends(view: View, window: tuple[int, int]) -> list[Event]:
    job, flows, out = view.job, view.flows, []
    opened = flows.start_ns[(flows.tcp_flags & SYN) != 0]
    closed = flows.start_ns[(flows.tcp_flags & (FIN | RST)) != 0]
    if job.start_ns - window[0] > view.period or (opened <= job.start_ns + view.period).any():
        out.append(Event("start", job.start_ns, job.start_ns))
    if window[1] - job.end_ns > view.period or (closed >= job.end_ns - view.period).any():
        out.append(Event("stop", job.end_ns, job.end_ns))
    return out


def _pauses(view: View, longer: float) -> list[tuple[int, int]]:
    """The longest silence of each step that is longer than such silences usually are."""
    flows, n = view.flows, len(view.ends)
    rows = np.flatnonzero(~flows.control())
    if n < 3 or not len(rows):
        return []
    begin, end = union(flows.start_ns[rows], flows.end_ns[rows])
    silence = begin[1:] - end[:-1]
    step = np.searchsorted(view.ends, begin[1:], "left")  # a silence belongs to the step that it delays
    most = np.zeros(n + 1, np.int64)
    highest(step, silence, most)
    first = np.flatnonzero(silence == most[step])[::-1]  # of several of one step the first is kept
    longest = {k: i for k, i in zip(step[first].tolist(), first.tolist(), strict=True) if 0 < k < n}
    if not longest:
        return []
    usual = float(np.median([silence[i] for i in longest.values()]))
    long = {
        k for k, i in longest.items() if silence[i] - usual >= longer * view.period and silence[i] >= 1.5 * usual
    }  # one beside another is no pause: then the steps themselves are slow
    return [(int(end[longest[k]]), int(begin[longest[k] + 1])) for k in sorted(long) if not long & {k - 1, k + 1}]


def _kind(view: View, start: int, end: int, written: float) -> EventKind:
    flows, around = view.flows, view.around
    opened = (flows.tcp_flags & SYN != 0) & (flows.start_ns >= start) & (flows.start_ns <= end)
    if opened.any():
        return "restart"
    members = around.among(view.job.endpoints)
    away = members[around.src] & ~members[around.dst] & (around.start_ns >= start) & (around.start_ns <= end)
    step = float(flows.octets.sum()) / max(len(view.ends), 1)
    return "checkpoint" if float(around.octets[away].sum()) > written * step else "evaluation"
