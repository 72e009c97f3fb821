"""Find the endpoint that stopped sending first when a job stopped, and endpoints that no longer answered.

When a rank stops, the others continue until they need it. So the rank with the earliest last payload stopped first. The
required margin over the second comes from the job itself, because ranks end healthy steps at different times too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import FIN, RST, Flows
from prism.model import JobDiagnosis

MIN_RETRANSMITS = (
    3  # retransmissions to an endpoint after its last payload: with TCP's doubling time-out, three take about a second
)
MIN_RATIO = 3.0  # minimum ratio to the retransmissions to any other endpoint
MIN_STEPS = 3  # minimum number of healthy steps
LAST_STEPS = 60  # number of last steps to look at


@dataclass(frozen=True)
class Silence:
    """Endpoints by their last payload, ns; the first one stopped first with `confidence` 0 … 1.

    `unanswered`: endpoints to which others retransmitted in vain; the NIC, link or host is down. `closed`: endpoints that
    closed a connection first; their process ended.
    """

    order: tuple[tuple[str, int], ...]
    margin_ns: int
    confidence: float
    unanswered: tuple[str, ...]
    closed: tuple[str, ...]

    @property
    def first(self) -> str:
        """Endpoint that stopped first, or empty."""
        return self.order[0][0] if self.order else ""


def find_first_silence(flows: Flows, job: JobDiagnosis) -> Silence:
    """Find the endpoint of a job that stopped first at the end of its traffic; an empty result without payload."""
    members = {address: code for code, address in enumerate(flows.endpoints)}
    codes = np.array([members[one] for one in job.job.endpoints if one in members], np.int64)
    if not len(codes):
        return Silence((), 0, 0.0, (), ())
    inside = np.isin(flows.src, codes) & np.isin(flows.dst, codes)
    paid = np.flatnonzero(inside & (flows.octets > 0))
    last = _last(flows.end_ns[paid], flows.src[paid], len(flows.endpoints))[codes]
    known = last > 0
    codes, last = codes[known], last[known]
    order = np.argsort(last, kind="stable")
    if len(order) < 2:
        return Silence(tuple((flows.endpoints[codes[i]], int(last[i])) for i in order), 0, 0.0, (), ())
    margin = int(last[order[1]] - last[order[0]])
    usual = _usual_margins(flows, paid, codes, job)
    confidence = float((usual < margin).mean()) if len(usual) >= MIN_STEPS else 0.5
    return Silence(
        tuple((flows.endpoints[codes[i]], int(last[i])) for i in order),
        margin,
        round(min(confidence, 0.95), 3),
        _unanswered(flows, inside, codes, last),
        _closed(flows, inside),
    )


def _last(times: NDArray[np.int64], src: NDArray[np.int32], endpoints: int) -> NDArray[np.int64]:
    out = np.zeros(endpoints, np.int64)
    np.maximum.at(out, src, times)
    return out


def _usual_margins(flows: Flows, paid: NDArray[np.intp], codes: NDArray[np.int64], job: JobDiagnosis) -> NDArray[np.int64]:
    """Measure the lead of the first rank over the second at the end of each completed step, ns."""
    ends = next((own[:, 1] for own in job.timeline.steps if len(own)), np.zeros(0, np.int64))[-LAST_STEPS - 1 :]
    out = []
    for low, high in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        rows = paid[(flows.end_ns[paid] > low) & (flows.end_ns[paid] <= high)]
        last = np.sort(_last(flows.end_ns[rows], flows.src[rows], len(flows.endpoints))[codes])
        if len(last) > 1 and last[0] > 0:
            out.append(int(last[1] - last[0]))
    return np.array(out, np.int64)


def _unanswered(flows: Flows, inside: NDArray[np.bool_], codes: NDArray[np.int64], last: NDArray[np.int64]) -> tuple[str, ...]:
    """List the endpoints that still received retransmissions after their last own payload."""
    again = []
    for code, after in zip(codes.tolist(), last.tolist(), strict=True):
        rows = inside & (flows.dst == code) & (flows.end_ns > after)
        again.append(int(flows.retransmits[rows].clip(0).sum()))
    counts = np.array(again)
    out = []
    for place, count in enumerate(again):
        rest = np.delete(counts, place)
        if count >= MIN_RETRANSMITS and count > MIN_RATIO * rest.max(initial=0):
            out.append(flows.endpoints[int(codes[place])])
    return tuple(out)


def _closed(flows: Flows, inside: NDArray[np.bool_]) -> tuple[str, ...]:
    """Find the endpoint that closed or reset a connection first."""
    rows = np.flatnonzero(inside & ((flows.tcp_flags & (FIN | RST)) != 0))
    if not len(rows):
        return ()
    first = rows[np.argmin(flows.end_ns[rows])]
    return (flows.endpoints[int(flows.src[first])],)


def most_confident(parts: Sequence[Silence]) -> Silence | None:
    """Choose the most confident result of several jobs."""
    return max((one for one in parts if one.order), key=lambda one: one.confidence, default=None)
