import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.addresses.address_book import AddressBook
from collectors.addresses.address_halves import code_halves, endpoint_condition, halves, table_of, text, valid_addresses
from collectors.addresses.bounded_address_book import BoundedAddressBook


@given(st.ip_addresses().map(str))
def test_an_address_is_its_halves_and_back(address):
    assert halves(text(*halves(address))) == halves(address)


@given(st.lists(st.ip_addresses().map(str), max_size=9), st.lists(st.ip_addresses(v=4).map(str), max_size=9))
def test_codes_are_of_addresses_in_order(some, others):
    for names in (some, others):
        (first, second), texts = code_halves(
            *(np.array([halves(n) for n in part], np.uint64).reshape(-1, 2) for part in (names, names[:2]))
        )
        assert [texts[code] for code in first] == [text(*halves(name)) for name in names]
        assert first[:2].tolist() == second.tolist()
        assert list(texts) == sorted(set(texts), key=halves)


def test_what_is_no_address_has_no_halves():
    names = ("10.0.0.1", "server7")
    assert halves("server7") is None
    assert valid_addresses(names).tolist() == [True, False]
    assert table_of(names).tolist() == [[0, 0xFFFF0A000001], [0, 0]]
    assert (valid_addresses(()).tolist(), table_of(()).tolist()) == ([False], [[0, 0]])


def test_addresses_without_a_gap_are_compared_and_others_looked_up():
    near, values = endpoint_condition(["10.0.0.1", "10.0.0.2", "server7"])
    assert "src_low BETWEEN" in near
    assert (values["low_first"], values["low_last"]) == (0xFFFF0A000001, 0xFFFF0A000002)
    apart, values = endpoint_condition(["10.0.0.1", "10.0.0.9"])
    assert "dst_low IN" in apart
    assert values["low"] == [0xFFFF0A000001, 0xFFFF0A000009]
    assert "(src_high, src_low) IN" in endpoint_condition(["10.0.0.1", "fd00::1"])[0]


@given(st.lists(st.ip_addresses().map(str), max_size=9))
def test_addresses_kept_as_numbers_are_the_same_table(names):
    pairs = np.array([halves(name) for name in names], np.uint64).reshape(-1, 2)
    for book in (AddressBook(), BoundedAddressBook()):
        book.codes(*pairs.T)
        found = book.endpoints.now() if isinstance(book, AddressBook) else book.texts
        assert valid_addresses(found).all() == valid_addresses(tuple(found)).all()
        assert table_of(found).tolist() == table_of(tuple(found)).tolist()
        assert table_of(found).flags.c_contiguous
