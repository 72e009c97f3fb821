from collections import Counter

import numpy as np

from collectors.exports.tallies import Accounts


def test_counts_go_to_all_and_to_each_exporter():
    tally, first = Counter(), Counter()
    accounts = Accounts(tally, [first, None])
    accounts.add("a", 2, 0)
    accounts.add("a", 0, 1)
    accounts.add_all("b", np.array([0, 1, 1]))
    accounts.add_all("c", np.array([0, 1, 1]), np.array([5, 0, 2]))
    accounts.add_all("d", np.zeros(0, np.int32))
    assert tally == {"a": 2, "b": 3, "c": 7}
    assert first == {"a": 2, "b": 1, "c": 5}
