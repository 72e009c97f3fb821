import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.addresses import bounded_address_book
from collectors.addresses.address_texts import address
from collectors.addresses.bounded_address_book import MAPPED, BoundedAddressBook


@given(st.lists(st.lists(st.tuples(st.sampled_from([0, 1 << 63]), st.integers(0, 40)), max_size=30), max_size=4))
def test_codes_stand_for_addresses(batches):
    book = BoundedAddressBook()
    for batch in batches:
        halves = np.array(batch, np.uint64).reshape(-1, 2)
        codes = book.codes(halves[:, 0], halves[:, 1])
        assert [book.texts[c] for c in codes] == [address(h, w) for h, w in batch]
    assert len(set(book.texts)) == len(book.texts)


def test_it_grows_and_then_forgets():
    book = BoundedAddressBook(most=9000)
    low = np.arange(10_000, dtype=np.uint64) | np.uint64(MAPPED)
    codes = book.codes(np.zeros(10_000, np.uint64), low)
    assert sorted(codes.tolist()) == list(range(10_000))
    before = book.texts
    assert before[codes[257]] == "0.0.1.1"
    assert book.texts is before
    book.refresh()
    assert (len(book.texts), len(before)) == (0, 10_000)


def test_addresses_that_collide_have_codes_too():
    book = BoundedAddressBook()
    chosen = np.array([w for w in range(1, 800_000) if _slot(w) == 7], np.uint64)
    assert len(chosen) > bounded_address_book.PROBES
    for _ in range(2):
        codes = book.codes(np.zeros(len(chosen), np.uint64), chosen)
        assert [book.texts[c] for c in codes] == [address(0, int(w)) for w in chosen]
    book.codes(np.zeros(9000, np.uint64), np.arange(9000, dtype=np.uint64) | np.uint64(MAPPED))  # it grows meanwhile
    codes = book.codes(np.zeros(len(chosen), np.uint64), chosen)
    assert [book.texts[c] for c in codes] == [address(0, int(w)) for w in chosen]
    assert len(set(book.texts)) == len(book.texts)


def _slot(low):
    mix = low * 0x9E3779B97F4A7C15 % (1 << 64)
    return ((mix ^ (mix >> 29)) >> 17) & ((1 << 13) - 1)
