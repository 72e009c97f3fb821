from prism.counters.counter_samples import Gathering, joined


def test_directions_that_come_apart_are_one_reading():
    into = Gathering()
    into.add("s", "p", 5, in_octets=1)
    into.add("s", "q", 5, in_octets=7)
    into.add("s", "p", 5, out_octets=2)
    into.add("s", "p", 3, in_octets=0)
    own = into.samples()
    assert own.ports == (("s", "p"), ("s", "q"))
    assert own.time_ns.tolist() == [3, 5, 5]
    assert own.out_octets.tolist() == [-1, 2, -1]


def test_files_are_joined_by_port():
    one, two = Gathering(), Gathering()
    one.add("s", "p", 5, in_octets=1)
    two.add("s", "p", 4, in_octets=0)
    assert joined([one.samples(), two.samples()]).time_ns.tolist() == [4, 5]
    assert len(joined([])) == 0
