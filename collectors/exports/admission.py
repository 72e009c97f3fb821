"""Decide which exporters' datagrams are accepted, and how many: an allow-list, a bounded number of exporters, rate limits.

UDP senders can be forged, so memory does not grow with input: exporters have slots, the one silent for longest loses its slot,
and refusals are remembered for a bounded number of addresses.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Codes, Ints, Mask

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

SECOND = 1_000_000_000
NOT_ALLOWED, TOO_MANY, LIMITED = "sender not allowed", "too many exporters", "over the rate limit"
CROWDED = "over the exporter's share while the decoder was behind"
REFUSALS = (NOT_ALLOWED, TOO_MANY, LIMITED, CROWDED)
_REMEMBERED = 1 << 16  # refused addresses
_STEADY = 8  # higher weights are powers of two, so that there are few different ones


def parse_networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Parse networks from CIDRs or addresses. Raises ValueError."""
    return tuple(ipaddress.ip_network(text.strip()) for text in texts)


@dataclass(frozen=True, eq=False)
class Admitted:
    """Accepted datagrams: rows, slots of their senders, and the number of received datagrams that each represents."""

    rows: NDArray[np.intp]
    sender: Codes
    weight: Ints
    senders: tuple[str, ...]

    def take(self, which: Mask) -> Admitted:
        """Select some of them."""
        return Admitted(self.rows[which], self.sender[which], self.weight[which], self.senders)


class AdmissionCounts(NamedTuple):
    """Counts of datagrams so far: all, refused by reason, and per exporter with a slot received and limited."""

    received: int
    refused: dict[str, int]
    by_exporter: dict[str, int]
    limited: dict[str, int]


class Admission:
    """Decides on batches of datagrams.

    The datagrams of a limited exporter are thinned evenly, and those kept represent the others: the weights of an exporter add
    up to what it sent, except for a rest that its next datagrams carry.

    Parameters
    ----------
    allowed : tuple of Network or None
        Networks of accepted senders; None for everybody.
    most : int
        Maximum number of exporters at a time.
    rate : float or None
        Maximum datagrams per second of each exporter; None for no limit.
    burst : float
        Seconds of traffic that an exporter may send at once.
    idle_ns : int
        After this silence, ns, an exporter may lose its slot to a new one.
    """

    def __init__(
        self,
        *,
        allowed: tuple[Network, ...] | None = None,
        most: int = 1000,
        rate: float | None = None,
        burst: float = 1.0,
        idle_ns: int = 600 * SECOND,
    ) -> None:
        self.allowed, self.most, self.rate, self.burst, self.idle_ns = allowed, most, rate, burst, idle_ns
        self.received_in_all = 0
        self.refused: Counter[str] = Counter()
        self.names: list[str] = []
        self.received, self.limited = np.zeros(most, np.int64), np.zeros(most, np.int64)
        self._slots: dict[bytes, int] = {}
        self._verdicts: dict[bytes, str] = {}
        self._seen_ns, self._tokens, self._reserve = np.zeros(most, np.int64), np.zeros(most), np.zeros(most)
        self._owed = np.zeros(most, np.int64)
        self._senders: tuple[str, ...] = ()
        self._present: Codes = np.zeros(0, np.int32)
        self._next: tuple[tuple[Network, ...] | None, float | None] | None = None

    def crowd_out(self, admitted: Admitted, keep: Mask) -> Admitted:
        """Refuse some accepted datagrams, and count them; return the others."""
        gone = np.bincount(admitted.sender[~keep], minlength=self.most)
        self.limited += gone
        self.refused[CROWDED] += int(gone.sum())
        return admitted.take(keep)

    def taken(self) -> AdmissionCounts:
        """Return the counts so far. Call in the admitting thread, or while none admits."""
        known = list(enumerate(self.names))
        received, limited = ({name: int(column[i]) for i, name in known} for column in (self.received, self.limited))
        return AdmissionCounts(self.received_in_all, dict(self.refused), received, limited)

    def reload(self, allowed: tuple[Network, ...] | None, *, rate: float | None) -> None:
        """Set another allow-list and rate from the next batch on; thread-safe."""
        self._next = (allowed, rate)

    def _reload(self, allowed: tuple[Network, ...] | None, rate: float | None) -> None:
        self._next, self.allowed, self.rate = None, allowed, rate
        self._verdicts.clear()
        for address in [a for a, slot in self._slots.items() if not self._allows(self.names[slot])]:
            self._seen_ns[self._slots.pop(address)] = -self.idle_ns

    def admit(
        self,
        senders: Sequence[bytes],
        sender: NDArray[np.intp],
        now_ns: int,
        *,
        precious: Callable[[int], bool] = lambda _: False,
    ) -> Admitted:
        """Decide on datagrams that arrived by `now_ns`, each from `senders[sender[i]]`, distinct addresses of 4 or 16 octets.

        A `precious` datagram (a template, needed to decode later ones) is not thinned, up to the rate again.
        """
        if self._next is not None:
            self._reload(*self._next)
        self.received_in_all += len(sender)
        each = np.bincount(sender, minlength=len(senders))
        found: Codes = np.array([self._slots.get(address, -1) for address in senders], np.int32)
        self._present = found
        for i in np.flatnonzero(found < 0).tolist():
            found[i] = self._newcomer(senders[i], now_ns, int(each[i]))
        slots = found[sender]
        rows = np.flatnonzero(slots >= 0)
        slots = slots[rows]
        counts = np.bincount(slots, minlength=self.most)
        self.received += counts
        weight = np.ones(len(rows), np.int64)
        if self.rate is not None:
            keep = self._thinned(rows, slots, counts, now_ns, weight, precious)
            rows, slots, weight = rows[keep], slots[keep], weight[keep]
        self._seen_ns[counts > 0] = now_ns
        return Admitted(rows, slots, weight, self._senders)

    def _newcomer(self, sender: bytes, now_ns: int, count: int) -> int:
        """Give a slot to a new sender; -1 if it gets none, and its datagrams are counted."""
        refusal = self._verdicts.get(sender)
        if refusal is None:
            name = _text(sender)
            if self._allows(name):
                slot = self._free_slot(now_ns)
                if slot is None:
                    self.refused[TOO_MANY] += count  # not remembered: a slot may become free
                    return -1
                self._take_slot(slot, sender, name)
                return slot
            refusal = NOT_ALLOWED
            if len(self._verdicts) >= _REMEMBERED:
                self._verdicts.clear()
            self._verdicts[sender] = refusal
        self.refused[refusal] += count
        return -1

    def _allows(self, name: str) -> bool:
        if self.allowed is None:
            return True
        address = ipaddress.ip_address(name)
        return any(address in network for network in self.allowed)

    def _free_slot(self, now_ns: int) -> int | None:
        if len(self.names) < self.most:
            self.names.append("")
            return len(self.names) - 1
        seen_ns = self._seen_ns.copy()
        seen_ns[self._present[self._present >= 0]] = now_ns
        slot = int(np.argmin(seen_ns))
        return slot if seen_ns[slot] < now_ns - self.idle_ns else None

    def _take_slot(self, slot: int, sender: bytes, name: str) -> None:
        self._slots = {a: s for a, s in self._slots.items() if s != slot} | {sender: slot}
        self.names[slot] = name
        self._senders = tuple(self.names)
        for column in (self.received, self.limited, self._seen_ns, self._owed):
            column[slot] = 0
        self._tokens[slot] = self._reserve[slot] = (self.rate or 0) * self.burst
        self._seen_ns[slot] = np.iinfo(np.int64).max  # taken in this batch: it cannot be reused

    def _thinned(
        self,
        rows: NDArray[np.intp],
        slots: Codes,
        counts: Ints,
        now_ns: int,
        weight: Ints,
        precious: Callable[[int], bool],
    ) -> Mask:
        """Select the datagrams within the rate, and write their weights."""
        rate = self.rate or 0.0
        active = np.flatnonzero(counts)
        passed = np.maximum(now_ns - self._seen_ns[active], 0) / SECOND
        for bucket in (self._tokens, self._reserve):
            bucket[active] = np.minimum(bucket[active] + passed * rate, max(rate * self.burst, 1.0))
        over = np.zeros(self.most, np.bool_)
        over[active] = (counts[active] > self._tokens[active]) | (self._owed[active] > 0)
        self._tokens[active] -= np.where(over[active], 0, counts[active])
        keep = ~over[slots]
        for slot in np.flatnonzero(over).tolist():
            mine = np.flatnonzero(slots == slot)
            kept, each = self._share(slot, mine, rows, precious)
            keep[kept], weight[kept] = True, each
            self.limited[slot] += len(mine) - len(kept)
            self.refused[LIMITED] += len(mine) - len(kept)
        return keep

    def _share(
        self, slot: int, mine: NDArray[np.intp], rows: NDArray[np.intp], precious: Callable[[int], bool]
    ) -> tuple[NDArray[np.intp], Ints]:
        """Select the datagrams of one exporter to keep, and their weights."""
        special = [i for i in mine.tolist() if precious(int(rows[i]))][: int(self._reserve[slot])]
        self._reserve[slot] -= len(special)
        plain = np.setdiff1d(mine, np.asarray(special, np.intp), assume_unique=True)
        count = min(len(plain), int(self._tokens[slot]))
        self._tokens[slot] -= count
        kept = plain[np.arange(count) * len(plain) // max(count, 1)]
        stands = 1
        if count:
            owed = int(self._owed[slot]) + len(plain)
            stands = owed // count
            if stands > _STEADY:
                stands = 1 << stands.bit_length() - 1
            self._owed[slot] = owed - stands * count
        else:
            self._owed[slot] += len(plain)
        return np.r_[np.asarray(special, np.intp), kept], np.r_[np.ones(len(special), np.int64), np.full(count, stands)]


def _text(sender: bytes) -> str:
    address = ipaddress.ip_address(sender)
    return str((isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped) or address)
