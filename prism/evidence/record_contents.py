"""Tell whether records of unknown content are single messages, or bursts of several that an exporter merged or cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import TCP, Flows
from prism.evidence import constants as c
from prism.loops.arrays.group_sums import numbered, numbered_pairs

Floats = NDArray[np.float64]
BURST = -1  # number of messages of a record that is a burst: any number, or a part of one


def with_bursts(flows: Flows) -> Flows:
    """Return the flows with `messages` −1 in records that are bursts, if most of unknown content are.

    Members of a collective send equal octets in equal messages. So where pairs move equal octets in numbers of records that
    most do not share, or in sizes that few share, these are no messages. Records of TCP are bursts in any case; others may give
    packets, but not messages.
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
    moved = np.array([octets[own].sum() for own in alike])
    differ = np.array([_differ(np.sort(large[own])) for own in alike], np.bool_)
    if 2 * moved[differ].sum() <= moved.sum() and alike:
        differ |= 2 * _shared_octets(alike, place, each, len(records)) < 1
    if 2 * moved[differ].sum() <= moved.sum():
        return flows
    messages = flows.messages.copy()
    messages[unknown] = BURST
    return replace(flows, messages=messages)


def _differ(ascending: NDArray[np.float64]) -> bool:
    """Whether most of some values, at least two, differ from all others, or from most of them."""
    most = int((np.searchsorted(ascending, ascending + c.SAME_RECORDS, "right") - np.arange(len(ascending))).max())
    return most == 1 or 2 * most < len(ascending)


def _shared_octets(alike: list[NDArray[np.intp]], place: NDArray[np.intp], each: Floats, pairs: int) -> Floats:
    """Share of the octets of some pairs of each group that are in records of a size that most of them have.

    `place`, `each`: pair and octets of each record. Cut bursts of pairs with slightly different rates have sizes of their own.
    """
    tried = [own[:: max(1, len(own) // c.PAIRS_TRIED)] for own in alike]
    group = np.full(pairs, -1, np.int64)
    group[np.concatenate(tried)] = np.repeat(np.arange(len(tried)), list(map(len, tried)))
    rows = np.flatnonzero(group.take(place) >= 0)
    of, pair, octets = group.take(place.take(rows)), place.take(rows), each.take(rows)
    size = numbered(of, octets.astype(np.int64))[0]
    first = numbered(size, pair)[1]
    have = np.bincount(size.take(first))  # pairs that have records of a size
    common = 2 * have.take(size) > np.array(list(map(len, tried))).take(of)
    return np.asarray(np.bincount(of, octets * common, len(tried)) / np.bincount(of, octets, len(tried)))
