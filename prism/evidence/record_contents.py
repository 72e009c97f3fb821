"""Tell whether records of unknown content are single messages, or bursts of several that an exporter merged or cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import TCP, Flows
from prism.evidence import constants as c
from prism.loops.arrays.group_sums import numbered_pairs

BURST = -1  # number of messages of a record that is a burst: any number, or a part of one


def with_bursts(flows: Flows) -> Flows:
    """Return the flows with `messages` −1 in records that are bursts, if most of unknown content are.

    Members of a collective send equal octets in equal messages. So where pairs move equal octets in numbers of records that
    most do not share, these are no messages. Records of TCP are bursts in any case; others may give packets, but not messages.
    """
    unknown = np.flatnonzero(flows.messages == 0)
    unknown = unknown[(flows.protocol.take(unknown) != TCP) & ~flows.control().take(unknown)]
    if not len(unknown):
        return flows
    place = numbered_pairs(flows.src.take(unknown), flows.dst.take(unknown), len(flows.endpoints))[1]
    each = flows.octets.take(unknown).astype(np.float64)
    records, octets, squares = np.bincount(place), np.bincount(place, each), np.bincount(place, each * each)
    lasting = np.flatnonzero(records >= c.FEW_MESSAGES)
    lasting = lasting[np.argsort(octets[lasting], kind="stable")]
    jumps = np.flatnonzero(np.diff(np.log(octets[lasting])) > c.SAME_OCTETS) + 1
    alike = [own for own in np.split(lasting, jumps) if len(own) > 1]
    large = 2 * np.log(octets) - np.log(squares)  # logarithm of the number of records, of which small ones hardly count
    differ = [own for own in alike if _differ(np.sort(large[own]))]
    if 2 * sum(octets[own].sum() for own in differ) <= sum(octets[own].sum() for own in alike):
        return flows
    messages = flows.messages.copy()
    messages[unknown] = BURST
    return replace(flows, messages=messages)


def _differ(ascending: NDArray[np.float64]) -> bool:
    """Whether most of some values, at least two, differ from all others, or from most of them."""
    groups = np.split(ascending, np.flatnonzero(np.diff(ascending) > c.SAME_RECORDS) + 1)
    most = max(map(len, groups))
    return most == 1 or 2 * most < len(ascending)
