"""Readiness: senders that have to wait for the receiver's word say themselves, in small messages, when they are ready.

Source: rendezvous in gloo (`NOTIFY_SEND_READY`, `NOTIFY_RECV_READY`); credits over RDMA are the receiver's word alone.
"""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Flows
from prism.loops.arrays.edges import sending
from prism.loops.arrays.group_sums import latest
from prism.loops.arrays.intervals import Ints


def ready(flows: Flows, rows: Ints, *, share: float = 0.1) -> tuple[Ints, Ints]:
    """When the sender of each of the given records was ready, and when the receiver said that it was, ns; −1 where unknown.

    Empty where nobody says a word.

    A record waited for the receiver where it began at once when word came, as promptly as the promptest of its kind: within
    `share` of the time since the sender said that it was ready.
    """
    words = np.flatnonzero(flows.control() & (flows.octets > 0))
    if not len(words):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    start, n = sending(flows), len(flows.endpoints)
    spoke, listened = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    spoke[flows.src[words]], listened[flows.dst[words]] = True, True
    asked = np.flatnonzero(spoke[flows.dst[rows]] & listened[flows.src[rows]])  # of others nobody can have given word
    offered, called = np.full(len(rows), -1), np.full(len(rows), -1)
    offered[asked], called[asked] = _ready(flows, start, words, rows[asked], share)
    return offered, called


def _ready(flows: Flows, start: Ints, words: Ints, rows: Ints, share: float) -> tuple[Ints, Ints]:
    """`ready`, of records whose receivers gave some of the `words`."""
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
        before = latest(pair, flows.end_ns[rows], pair, said)  # what it said then was of an earlier record
        own &= offered >= before
    return np.where(own, offered, -1), np.where(waited, called, -1)
