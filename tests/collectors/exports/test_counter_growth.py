from collectors.columns.losses import DISCARDS, ERRORS
from collectors.exports._counter_growth import Growth
from collectors.exports.evidence import Counters

NAMES = ("in_errors", "in_discards", "out_errors", "out_discards")


def counters(time_ns, *rows, exporters=("s1",), **more):
    """Rows of (exporter, interface, in_errors, in_discards, out_errors, out_discards) at a time."""
    columns = dict(zip(("exporter", "interface", *NAMES), zip(*rows, strict=True), strict=True))
    return Counters.build({"time_ns": [time_ns] * len(rows), **columns, **more}, exporters=exporters, endpoints=("a", "b"))


def told(found):
    ends = (*found.endpoints, None)
    columns = (found.in_interface, found.out_interface, found.src, found.dst, found.reason, found.packets)
    return [(i, o, ends[a], ends[b], r, n) for i, o, a, b, r, n in zip(*(c.tolist() for c in columns), strict=True)]


def test_what_counters_grew_by_between_two_times():
    growth = Growth()
    assert len(growth.losses(counters(100, (0, 7, 5, 0, -1, 3)))) == 0  # nobody knows since when
    found = growth.losses(counters(300, (0, 7, 25, 0, -1, 4)))
    assert told(found) == [(7, -1, None, None, ERRORS, 20), (-1, 7, None, None, DISCARDS, 1)]
    assert (found.start_ns.tolist(), found.end_ns.tolist(), found.exporters) == ([100, 100], [300, 300], ("s1",))
    assert len(growth.losses(counters(400, (0, 7, 25, 0, -1, 4)))) == 0


def test_a_switch_that_started_anew_or_does_not_count_lost_nothing():
    growth = Growth()
    for time_ns, errors in ((1, 50), (2, 3), (3, -1), (4, 9)):
        assert len(growth.losses(counters(time_ns, (0, 7, errors, 0, 0, 0)))) == 0
    assert growth.losses(counters(5, (0, 7, 10, 0, 0, 0))).packets.tolist() == [1]
    assert len(growth.losses(counters(5, (0, 7, 99, 0, 0, 0)))) == 0  # told twice


def test_switches_and_interfaces_are_apart():
    growth = Growth()
    growth.losses(counters(1, (0, 7, 1, 0, 0, 0), (1, 7, 2, 0, 0, 0), (1, 8, 3, 0, 0, 0), exporters=("s1", "s2")))
    found = growth.losses(counters(2, (0, 7, 9, 0, 0, 0), (1, 7, 4, 0, 0, 0), exporters=("s2", "s1")))
    rows = zip(found.exporter.tolist(), found.in_interface.tolist(), found.packets.tolist(), strict=True)
    assert [(found.exporters[code], interface, n) for code, interface, n in rows] == [("s2", 7, 7), ("s1", 7, 3)]


def test_of_an_interface_with_a_neighbour_its_packets_were_lost():
    growth = Growth()
    for time_ns in (1, 2):
        found = growth.losses(counters(time_ns, *((0, i, time_ns, 0, 0, time_ns) for i in (7, 8)), neighbour=[1, -1]))
    assert told(found)[:2] == [(7, -1, "b", None, ERRORS, 1), (-1, 7, None, "b", DISCARDS, 1)]
    assert told(found)[2:] == [(8, -1, None, None, ERRORS, 1), (-1, 8, None, None, DISCARDS, 1)]


def test_so_many_interfaces_are_known_and_no_more():
    growth = Growth(most=2)
    growth.losses(counters(1, *((0, i, 0, 0, 0, 0) for i in range(9))))
    assert len(growth.losses(counters(2, *((0, i, 1, 0, 0, 0) for i in range(9))))) <= 2
    assert len(growth._stood) == 2
