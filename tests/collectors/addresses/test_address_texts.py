from ipaddress import IPv4Address, IPv6Address

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.addresses import address_texts
from collectors.addresses.address_texts import texts
from collectors.addresses.bounded_address_book import MAPPED
from collectors.compilation._interpreted import interpret

HALVES = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1).map(lambda i: MAPPED | i))


GROUPS = st.lists(st.sampled_from([0, 0, 1, 0x10, 0x100, 0x1000, 0xFFFF]), min_size=4, max_size=4)
SPARSE = GROUPS.map(lambda groups: sum(group << 16 * k for k, group in enumerate(groups)))


@given(
    st.lists(st.tuples(st.one_of(st.just(0), HALVES, SPARSE), st.one_of(HALVES, SPARSE)), max_size=30), st.sampled_from([1, 9])
)
def test_they_are_those_of_python(pairs, at_once):
    before, address_texts._AT_ONCE = address_texts._AT_ONCE, at_once
    try:
        found = texts(*(np.array([pair[k] for pair in pairs], np.uint64) for k in (0, 1)))
    finally:
        address_texts._AT_ONCE = before
    addresses = [IPv6Address(high << 64 | low) for high, low in pairs]
    assert found == [str(address.ipv4_mapped or address) for address in addresses]
    assert all(type(text) is str for text in found)


def test_many_addresses_of_ipv4():
    low = np.uint64(MAPPED) | np.random.default_rng(1).integers(0, 1 << 32, 40_000, np.uint64)
    assert texts(np.zeros(40_000, np.uint64), low) == [str(IPv4Address(int(one) & 0xFFFFFFFF)) for one in low]


def test_the_plain_twin_writes_the_same():
    high, low = (np.random.default_rng(k).integers(0, 1 << 63, 50).astype(np.uint64) for k in (1, 2))
    high[:20], low[:20] = 0, np.uint64(MAPPED) | low[:20] & np.uint64(0xFFFFFFFF)
    out, again = np.zeros(50 * 40, np.uint8), np.zeros(50 * 40, np.uint8)
    assert interpret(address_texts.write_texts.py_func, (high, low, out), {}) == address_texts.write_texts(high, low, again)
    assert (out == again).all()
