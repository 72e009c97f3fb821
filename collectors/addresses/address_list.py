"""Store sequences of addresses as numbers; texts are made at the first access."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Halves = NDArray[np.uint64]


class Addresses(Sequence[str]):
    """Addresses as texts, for example "10.0.0.1"; equal to a tuple or a list of the same texts."""

    @abstractmethod
    def texts(self) -> tuple[str, ...]:
        """Return all texts. The first call makes them."""

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        return self.texts()[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts())

    def __contains__(self, text: object) -> bool:
        return text in self.texts()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Addresses, tuple, list)):
            return NotImplemented
        return self is other or (len(self) == len(other) and self.texts() == tuple(other))

    def __hash__(self) -> int:
        return hash(self.texts())

    def __repr__(self) -> str:
        return repr(self.texts())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.texts(), dtype)


class AddressList(Addresses):
    """An immutable sequence of addresses.

    Parameters
    ----------
    halves : [n, 2] uint64
        The upper and lower 64 bits of each address, IPv4 mapped (RFC 4291 section 2.5.5.2). The caller must not change it.
    made : list of str, optional
        Texts made so far of the table that `halves` is the beginning of; it grows here, so that each text is made once.
    """

    def __init__(self, halves: Halves, made: list[str] | None = None) -> None:
        self.halves = halves
        self._made: list[str] = [] if made is None else made
        self._texts: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.halves)

    def texts(self) -> tuple[str, ...]:
        """Return all texts. The first call makes them."""
        if self._texts is None:
            done = len(self._made)
            if done < len(self):
                from collectors.addresses.address_texts import (
                    texts,  # compiled code, not needed by programs that show no addresses
                )

                self._made += texts(*self.halves[done:].T)
            self._texts = tuple(self._made[: len(self)])
        return self._texts

    def table(self) -> Halves:
        """Return the halves, contiguous and read-only."""
        if not self.halves.flags.c_contiguous:
            self.halves = np.ascontiguousarray(self.halves)
        return self.halves

    def kept(self, mask: NDArray[np.bool_]) -> Sequence[str]:
        """Select the addresses where the mask [n] is true, in the same order."""
        return AddressList(self.halves[mask]) if self._texts is None else tuple(compress(self._texts, mask))

    def __reduce__(self) -> tuple[Any, ...]:
        return AddressList, (np.ascontiguousarray(self.halves),)


class GrowingAddresses(Addresses):
    """The addresses of a table that grows at its end."""

    def __init__(self) -> None:
        self._made: list[str] = []
        self._now = AddressList(np.zeros((0, 2), np.uint64), self._made)

    def __len__(self) -> int:
        return len(self._now)

    def grow(self, halves: Halves) -> None:
        """Set the table, which begins with the earlier addresses."""
        if len(halves) > len(self._now):
            self._now = AddressList(halves, self._made)

    def now(self) -> AddressList:
        """Return the current addresses; the same object until a new one is added."""
        return self._now

    def texts(self) -> tuple[str, ...]:
        """Return all texts. The first call makes them."""
        return self._now.texts()


def frozen_addresses(addresses: Sequence[str]) -> Sequence[str]:
    """Return the current addresses as an immutable sequence."""
    return addresses.now() if isinstance(addresses, GrowingAddresses) else tuple(addresses)


def select_addresses(addresses: Sequence[str], mask: NDArray[np.bool_]) -> Sequence[str]:
    """Select the addresses where the mask [n] is true, in the same order."""
    return addresses.kept(mask) if isinstance(addresses, AddressList) else tuple(compress(addresses, mask))
