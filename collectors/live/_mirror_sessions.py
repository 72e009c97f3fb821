"""Find the switch that mirrored a frame: from the outer addresses of GRE, or the ERSPAN session, as configured."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from collectors.columns.partial_records import hash_columns
from collectors.columns.record import Ints
from collectors.exports.admission import NOT_ALLOWED, Network
from collectors.packets.frame_batch import PAD, Batch, gather
from collectors.packets.headers import ERSPAN, ERSPAN_III, GRE, GRE_OPTIONS, GRE_SEQUENCE, IPV4, IPV6

Longs = NDArray[np.uint64]

TOO_MANY, NO_MIRROR = "too many switches", "no mirrored frame"
NO_SESSION = -1
_IPV4 = np.dtype({"names": ("head", "protocol", "src"), "formats": ("u1", "u1", ">u4"), "offsets": (0, 9, 12), "itemsize": 20})
_IPV6 = np.dtype({"names": ("next", "high", "low"), "formats": ("u1", ">u8", ">u8"), "offsets": (6, 8, 16), "itemsize": 40})
_GRE = np.dtype([("flags", ">u2"), ("protocol", ">u2")])
_SHORT = np.dtype(">u2")
_MAPPED = np.uint64(0xFFFF << 32)
_REMEMBERED = 1 << 16


def outer_sources(batch: Batch) -> tuple[Longs, Longs, Ints]:
    """Return the outer source of each Ethernet frame, as upper and lower 64 bits, and its ERSPAN session; 0, 0 without GRE.

    The session is `NO_SESSION` in plain GRE and ERSPAN type I. draft-foschiano-erspan-03 sections 4.2 and 4.3.
    """
    data = batch.data + PAD
    kind = gather(data, batch.offset + 12, _SHORT)
    four, six = gather(data, batch.offset + 14, _IPV4), gather(data, batch.offset + 14, _IPV6)
    is_four, is_six = (kind == IPV4) & (four["protocol"] == GRE), (kind == IPV6) & (six["next"] == GRE)
    at = batch.offset + 14 + np.where(is_six, 40, (four["head"] & 15).astype(np.int64) * 4)
    tunnel = gather(data, at, _GRE)
    flags, protocol = tunnel["flags"].astype(np.int64), tunnel["protocol"]
    at = at + 4 + 4 * np.bitwise_count(flags & GRE_OPTIONS)
    numbered = (protocol == ERSPAN_III) | ((protocol == ERSPAN) & (flags & GRE_SEQUENCE > 0))
    whole = at + 4 <= batch.offset + batch.captured
    found = (is_four | is_six) & whole
    high = np.where(is_six & found, six["high"], 0).astype(np.uint64)
    low = np.where(found, np.where(is_six, six["low"], four["src"] | _MAPPED), 0).astype(np.uint64)
    session = np.where(numbered, gather(data, at + 2, _SHORT).astype(np.int64) & 0x3FF, NO_SESSION)
    return high, low, np.where(found, session, NO_SESSION)


class Mirrors:
    """Splits batches by switch. `named`: names by outer source and session; session `NO_SESSION` means any.

    Without a name, the source address is the name. `allowed`: accepted sources, None for all; at most `most` switches.
    """

    def __init__(
        self, named: Mapping[tuple[str, int], str], *, allowed: tuple[Network, ...] | None = None, most: int = 256
    ) -> None:
        self.named, self.allowed, self.most = named, allowed, most
        self.alone: tuple[str, ...] = ()
        self.skipped: Counter[str] = Counter()
        self.switches: set[str] = set()
        self._names: dict[int, str] = {}
        self._reasons: dict[int, str] = {}

    def reload(self, allowed: tuple[Network, ...] | None) -> None:
        """Set another allow-list."""
        self.allowed = allowed
        self._names.clear()

    def split(self, batch: Batch) -> Iterator[tuple[str, Batch]]:
        """Yield the frames of each switch, in order; others are counted in `skipped`."""
        high, low, session = outer_sources(batch)
        key = hash_columns(high.view(np.int64), low.view(np.int64), session)
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        names = [""] * len(first)
        for i in np.argsort(first).tolist():  # in the order of the frames
            row = int(first[i])
            names[i] = self._name(int(key[row]), int(high[row]), int(low[row]), int(session[row]))
        for name in dict.fromkeys(name for name in names if name):
            yield name, _rows(batch, np.isin(which, [i for i, n in enumerate(names) if n == name]))
        for i, name in enumerate(names):
            if not name:
                self.skipped[self._reasons[int(key[first[i]])]] += int(np.count_nonzero(which == i))

    def _name(self, key: int, high: int, low: int, session: int) -> str:
        if key in self._names:
            return self._names[key]
        if len(self._names) >= _REMEMBERED:
            self._names.clear()
            self._reasons.clear()
        self._names[key], self._reasons[key] = self._judged(high, low, session)
        return self._names[key]

    def _judged(self, high: int, low: int, session: int) -> tuple[str, str]:
        if not high and not low:
            return "", NO_MIRROR
        six = ipaddress.IPv6Address(high << 64 | low)
        address = six.ipv4_mapped or six
        if self.allowed is not None and not any(address in network for network in self.allowed):
            return "", NOT_ALLOWED
        source = str(address)
        name = self.named.get((source, session)) or self.named.get((source, NO_SESSION)) or source
        if name not in self.switches and len(self.switches) >= self.most:
            return "", TOO_MANY
        self.switches.add(name)
        return name, ""


def named_switches(texts: Sequence[str]) -> dict[tuple[str, int], str]:
    """Parse names by source and session, from `NAME=ADDRESS` and `NAME=ADDRESS/SESSION`. Raises ValueError."""
    found = {}
    for text in texts:
        name, _, origin = text.partition("=")
        address, _, session = origin.partition("/")
        try:
            number = int(session) if session else NO_SESSION
            if not name or "|" in name or not NO_SESSION <= number < 1024:
                raise ValueError
            found[str(ipaddress.ip_address(address)), number] = name
        except ValueError:
            raise ValueError(f"{text!r} does not name a switch; write NAME=ADDRESS or NAME=ADDRESS/SESSION") from None
    return found


def _rows(batch: Batch, rows: NDArray[np.bool_]) -> Batch:
    if rows.all():
        return batch
    columns = (batch.link_type, batch.time_ns, batch.offset, batch.captured, batch.wire)
    return Batch(batch.data, *(column[rows] for column in columns))
