"""Find when senders and receivers were ready, from small ready messages that precede a transfer.

Source: rendezvous in gloo (`NOTIFY_SEND_READY`, `NOTIFY_RECV_READY`). Credits over RDMA come from the receiver only.
"""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Flows
from prism.loops import constants as c
from prism.loops.arrays.edges import sending
from prism.loops.arrays.group_sums import latest
from prism.loops.arrays.intervals import Ints


def ready(flows: Flows, rows: Ints, *, share: float = c.AFTER_READY) -> tuple[Ints, Ints]:
    """Times at which sender and receiver of each of the given records announced readiness, ns; −1 if unknown. Empty if there
    are no ready messages.

    A record waited for its receiver if it began right after the receiver's message, as promptly as the most prompt of its kind:
    within `share` of the time since the sender was ready.
    """
    words = np.flatnonzero(flows.control() & (flows.octets > 0))
    if not len(words):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    start, n = sending(flows), len(flows.endpoints)
    spoke, listened = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    spoke[flows.src[words]], listened[flows.dst[words]] = True, True
    asked = np.flatnonzero(spoke[flows.dst[rows]] & listened[flows.src[rows]])  # only for these can ready messages exist
    offered, called = np.full(len(rows), -1), np.full(len(rows), -1)
    offered[asked], called[asked] = _ready(flows, start, words, rows[asked], share)
    return offered, called


def _ready(flows: Flows, start: Ints, words: Ints, rows: Ints, share: float) -> tuple[Ints, Ints]:
    """Compute `ready` of records whose receivers sent some of the `words`."""
    n = len(flows.endpoints)
    src, dst = (side[rows].astype(np.int64) for side in (flows.src, flows.dst))
    pair, spoken, said = src * n + dst, flows.src[words].astype(np.int64) * n + flows.dst[words], start[rows]
    called = latest(spoken, flows.end_ns[words], dst * n + src, said)
    offered = latest(spoken, start[words], pair, np.where(called >= 0, called, -1))
    answer = said - called
    heard = called >= 0
    prompt = 4 * np.percentile(answer[heard], 10) if heard.any() else 0.0
    waited = heard & (answer <= prompt)
    own = waited & (offered >= 0) & (answer <= share * (said - offered))
    if own.any():
        before = latest(pair, flows.end_ns[rows], pair, said)  # earlier messages belong to an earlier record
        own &= offered >= before
    return np.where(own, offered, -1), np.where(waited, called, -1)
