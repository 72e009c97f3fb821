import numpy as np

from collectors.exporters import Source
from collectors.exportrows import Members
from collectors.options import Told


def test_rates_hold_from_where_they_were_told():
    sources = [Source(), Source()]
    sources[1].told(-1, 9)
    told = Told(sources)
    told.tell(3, 0, 1, 100)
    told.tell(3, 0, 2, 50)
    told.tell(6, 0, 1, 200)
    told.tell(7, 0, 1, 200)  # no news
    source, position = np.array([0, 0, 0, 1]), np.array([1, 4, 8, 0])
    of = Members(np.arange(4), np.array([1, 2, 2, 1]))
    sampler = np.array([1, 1, 2, 1, 2, 1])
    assert told.rates(source, position, of, sampler).tolist() == [1, 100, 50, 200, 50, 9]
    assert told.rates(source, position, of, None).tolist() == [1, 1, 1, 1, 1, 9]  # two samplers do not agree
    assert sources[0].rates == {1: 200, 2: 50}
    none = np.zeros(0, np.int64)
    assert Told([]).rates(none, none, Members(none, none), None).tolist() == []
