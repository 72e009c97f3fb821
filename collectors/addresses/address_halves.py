"""Convert addresses to and from two 64-bit halves as in the store; IPv4 mapped (RFC 4291 section 2.5.5.2)."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collectors.addresses.address_list import AddressList

Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]

HALVES = ("_high", "_low")
MAPPED = 0xFFFF


@lru_cache(1 << 17)
def halves(address: str) -> tuple[int, int] | None:
    """Split an address into its upper and lower 64 bits; None for other text."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return None
    number = MAPPED << 32 | int(known) if known.version == 4 else int(known)
    return number >> 64, number & 0xFFFFFFFFFFFFFFFF


def valid_addresses(endpoints: Sequence[str]) -> Mask:
    """Mark the endpoints that are IP addresses; returns at least one element."""
    return np.ones(1, np.bool_) if isinstance(endpoints, AddressList) and len(endpoints) else _known(tuple(endpoints))


@lru_cache(4)
def _known(endpoints: tuple[str, ...]) -> Mask:
    return np.array([halves(name) is not None for name in endpoints] or [False])


def table_of(endpoints: Sequence[str]) -> NDArray[np.uint64]:
    """Convert endpoints to halves [n, 2], 0 for other text; at least one row."""
    return endpoints.table() if isinstance(endpoints, AddressList) and len(endpoints) else _table_of(tuple(endpoints))


@lru_cache(4)
def _table_of(endpoints: tuple[str, ...]) -> NDArray[np.uint64]:
    table = np.array([halves(name) or (0, 0) for name in endpoints] or [(0, 0)], np.uint64)
    table.setflags(write=False)
    return table


def code_halves(*ends: NDArray[np.uint64]) -> tuple[tuple[Codes, ...], tuple[str, ...]]:
    """Assign codes to addresses given as halves [n, 2]; return the codes of each input, and the texts, in order of address."""
    whole = np.concatenate(ends)
    if len(whole) and (whole[:, 0] == whole[0, 0]).all():  # as for IPv4: finding distinct values by hash is faster than sorting
        found = pa.array(np.ascontiguousarray(whole[:, 1])).dictionary_encode()
        low = found.dictionary.to_numpy()
        rank = np.empty(len(low), np.int32)
        rank[np.argsort(low)] = np.arange(len(low))
        told = tuple(text(int(whole[0, 0]), one) for one in np.sort(low).tolist())
        return tuple(np.split(rank[found.indices.to_numpy()], np.cumsum([len(end) for end in ends])[:-1])), told
    order = np.lexsort((whole[:, 1], whole[:, 0]))
    ordered = whole[order]
    new = np.ones(len(whole), np.bool_)
    new[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    codes = np.empty(len(whole), np.int32)
    codes[order] = np.cumsum(new) - 1
    texts = tuple(text(high, low) for high, low in ordered[new].tolist())
    return tuple(np.split(codes, np.cumsum([len(end) for end in ends])[:-1])), texts


def text(high: int, low: int) -> str:
    """Format an address from its halves."""
    known = ipaddress.IPv6Address(high << 64 | low)
    return str(known.ipv4_mapped or known)


def endpoint_condition(endpoints: Collection[str]) -> tuple[str, dict[str, Any]]:
    """Build a SQL condition that both ends are among the endpoints, and its parameters."""
    known = sorted({pair for pair in map(halves, endpoints) if pair})
    parameters, parts = dict[str, Any](both=known), list[str]()
    halved = {half: sorted({pair[i] for pair in known}) for i, half in enumerate(("high", "low"))}
    for half, values in halved.items():
        if values and values[-1] - values[0] == len(values) - 1:  # without gaps: a comparison is faster than a look-up
            parameters |= {f"{half}_first": values[0], f"{half}_last": values[-1]}
            asked = f"BETWEEN {{{half}_first:UInt64}} AND {{{half}_last:UInt64}}"
        else:
            parameters[half], asked = values, f"IN {{{half}:Array(UInt64)}}"
        parts += [f"{end}_{half} {asked}" for end in ("src", "dst")]
    if len(halved["high"]) > 1:  # otherwise the halves suffice, and an index reads them faster
        parts += [f"({end}_high, {end}_low) IN {{both:Array(Tuple(UInt64, UInt64))}}" for end in ("src", "dst")]
    return " AND ".join(parts), parameters
