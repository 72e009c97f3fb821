from __future__ import annotations

import numpy as np
import pytest

from collectors.addresses.address_book import AddressBook


@pytest.mark.parametrize("n", [1, 999, 200_000])
def test_many_addresses(n: int) -> None:
    """More than the book has slots, so that they collide; asked twice, and some by name."""
    book, random = AddressBook(), np.random.default_rng(n)
    low = random.permutation(np.arange(n, dtype=np.uint64) * np.uint64(7) + np.uint64(0xFFFF_0A00_0000))
    high = np.zeros(n, np.uint64)
    by_name = book.code(int(low[-1]).to_bytes(16, "big"))
    for _ in range(2):
        codes = book.codes(high, low)
        assert len(book.endpoints) == n == len(np.unique(codes))
        assert codes[-1] == by_name
    number = int(low[n // 2]) & 0xFFFFFFFF
    assert book.endpoints[codes[n // 2]] == ".".join(str(octet) for octet in number.to_bytes(4, "big"))
