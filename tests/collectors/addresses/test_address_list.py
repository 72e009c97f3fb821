import json
import pickle

import numpy as np

from collectors.addresses.address_book import AddressBook
from collectors.addresses.address_list import AddressList, GrowingAddresses, frozen_addresses, select_addresses

HALVES = np.array([[0, 0xFFFF << 32 | 0x0A000001 + i] for i in range(4)], np.uint64)
TEXTS = ("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")


def test_a_list_is_like_a_tuple_of_its_texts():
    found = AddressList(HALVES)
    assert (len(found), found, found[1], found[-1], found[1:3]) == (4, TEXTS, TEXTS[1], TEXTS[3], TEXTS[1:3])
    assert (hash(found), repr(found), list(found)) == (hash(TEXTS), repr(TEXTS), list(TEXTS))
    assert (found == TEXTS[:3], found == 4, found != TEXTS) == (False, False, False)
    assert "10.0.0.3" in found
    assert "10.0.0.5" not in found
    assert np.array(found).tolist() == json.loads(json.dumps(list(found))) == list(TEXTS)
    assert pickle.loads(pickle.dumps(found)) == found


def test_texts_are_made_once_and_only_where_they_are_read():
    growing = GrowingAddresses()
    growing.grow(HALVES[:2])
    before = growing.now()
    assert growing.now() is before
    growing.grow(HALVES[:2])
    assert growing.now() is before
    growing.grow(HALVES)
    assert (before, growing, growing[3]) == (TEXTS[:2], TEXTS, TEXTS[3])
    assert before[1] is growing[1]


def test_some_are_kept_in_order():
    mask = np.array([True, False, True, False])
    found = AddressList(HALVES)
    assert select_addresses(found, mask) == select_addresses(TEXTS, mask) == TEXTS[::2]
    assert found.texts() == TEXTS
    assert select_addresses(found, mask) == TEXTS[::2]


def test_what_grows_is_taken_as_it_is_now():
    book = AddressBook()
    book.codes(*HALVES[:3].T)
    found = frozen_addresses(book.endpoints)
    book.codes(*HALVES.T)
    assert (found, frozen_addresses(book.endpoints), frozen_addresses(list(TEXTS))) == (TEXTS[:3], TEXTS, TEXTS)
