import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.exports.netflow.netflow import NetflowDecoder
from collectors.exports.records.running_totals import ADDED, FIRST, OLD, RESET, Totals, follow_totals, put_rows, warm
from tests.collectors.builders import exports as x
from tests.collectors.builders.exports import batch, ipfix, set_, template
from tests.collectors.builders.netflows import decoded

WIDE = np.array([64, 64])


def added(totals, *records, bits=WIDE):
    """Records (key, start, end, octets, packets): octets that each adds, and what each is."""
    key, start, end, *counts = np.array(records).T
    found = totals.add(key, start, end, np.array(counts), bits)
    return found.counts[0].tolist(), found.found.tolist()


def test_a_total_that_comes_three_times_counts_once():
    totals = Totals()
    octets, found = added(totals, (7, 0, 10, 100, 1), (7, 0, 20, 300, 3), (7, 0, 30, 450, 4))
    assert (octets, found) == ([100, 200, 150], [FIRST, ADDED, ADDED])
    assert added(totals, (7, 0, 30, 450, 4))[0] == [0]
    starts = totals.add(*(np.array([n]) for n in (7, 0, 40)), np.array([[460], [5]]), WIDE).start_ns
    assert starts.tolist() == [30]  # what is new came after the record before


def test_resets_late_records_and_new_flows_of_the_same_key():
    octets, found = added(Totals(), (7, 0, 20, 300, 3), (7, 0, 10, 100, 1), (7, 0, 30, 50, 1), (7, 40, 50, 70, 1))
    assert (octets, found) == ([300, 0, 50, 70], [FIRST, OLD, RESET, FIRST])


def test_without_a_start_a_total_goes_on_until_it_falls():
    octets, found = added(Totals(), (7, -1, 20, 300, 3), (7, -1, 30, 400, 4), (7, -1, 40, 100, 1))
    assert (octets, found) == ([300, 100, 100], [FIRST, ADDED, RESET])


def test_a_short_total_wraps():
    bits = np.array([32, 32])
    last = (1 << 32) - 100
    assert added(Totals(), (7, 0, 20, last, 3), (7, 0, 30, 50, 4), bits=bits) == ([last, 150], [FIRST, ADDED])
    assert added(Totals(), (7, 0, 20, 1 << 31, 3), (7, 0, 30, 50, 4), bits=bits)[1] == [FIRST, RESET]


RECORDS = st.tuples(st.integers(0, 5), st.integers(-1, 30), st.integers(0, 10), st.integers(0, 9), st.integers(0, 9))


def naive(records):
    """The same, flow by flow, with a dictionary."""
    known, octets, found = {}, [], []
    for key, start, lasted, *counts in records:
        end = max(start, 0) + lasted
        before = known.get(key)
        kind, gain = FIRST, counts[0]
        if before is not None and start <= before[0]:
            kind, gain = ADDED, counts[0] - before[1][0]
            if any(now < last for now, last in zip(counts, before[1], strict=True)):
                kind, gain = (OLD, 0) if end <= before[0] else (RESET, counts[0])
        if kind != OLD:
            known[key] = (end if kind == FIRST else max(end, before[0])), counts
        octets.append(gain)
        found.append(kind)
    return octets, found


@given(st.lists(RECORDS, min_size=1, max_size=60), st.integers(1, 60))
def test_the_table_and_a_dictionary_say_the_same_however_batches_are_split(records, cut):
    totals, octets, found = Totals(), [], []
    for part in (records[:cut], records[cut:]):
        if part:
            some = added(totals, *((k * 977 - 3, s, max(s, 0) + d, o, p) for k, s, d, o, p in part))
            octets, found = octets + some[0], found + some[1]
    assert (octets, found) == naive(records)


def test_the_table_is_bounded_and_the_flow_seen_last_stays():
    totals = Totals(most=100)
    for key in range(1000):
        added(totals, (5_000, 0, key, key, key), (key, 0, 10, 1, 1))
    assert len(totals) <= 100
    assert totals.forgotten > 800
    assert added(totals, (5_000, 0, 1000, 1000, 1000))[0] == [1]
    rows = np.arange(3000)
    totals.add(rows, rows, rows, np.stack([rows, rows]), WIDE)
    assert len(totals) <= 100


FIELDS = ((x.SRC, 4), (x.DST, 4), (x.SRC_PORT, 2), (x.DST_PORT, 2), (4, 1), (152, 8), (153, 8))


def message(*totals, elements, start=-30, end=-20, port=1000, interface=None, domain=1):
    head = x.ip("10.0.0.1") + x.ip("10.0.0.2") + struct.pack(">HHB", port, 2000, 6)
    times = struct.pack(">QQ", (x.WHEN + start) * 1000, (x.WHEN + end) * 1000)
    more = ((10, 4),) if interface is not None else ()
    body = head + times + b"".join(struct.pack(">Q", n) for n in totals) + (struct.pack(">I", interface) if more else b"")
    fields = (*FIELDS, *((e[0], 8, *e[1:]) for e in elements), *more)
    return ipfix(template(300, fields), set_(300, body), domain=domain)


PAIRS = [((85,), (86,)), ((171,), (172,)), ((353,), (86,))]


@pytest.mark.parametrize("elements", PAIRS)
@pytest.mark.parametrize("apart", [False, True])
def test_active_timeouts_of_one_flow(elements, apart):
    """The given input: three records of one start, totals of 150000, 300000 and 450000 octets; 450000 octets in all."""
    messages = [message(150_000 * n, 100 * n, elements=elements, end=-30 + 10 * n) for n in (1, 2, 3)]
    decoder = NetflowDecoder()
    parts = [decoder.decode(batch(m)) for m in messages] if apart else [decoder.decode(batch(*messages))]
    assert sum(int(part.octets.sum()) for part in parts) == 450_000
    assert sum(int(part.packets.sum()) for part in parts) == 300
    starts = sorted(start for part in parts for start in (part.start_ns // 10**9 - x.WHEN).tolist())
    assert starts == [-30, -20, -10]
    x.check_laws(decoder.tally, decoder.exporters)


def test_totals_of_both_directions():
    elements = ((85,), (85, 29305), (86, 29305))
    flows, decoder = decoded(*(message(100 * n, 70 * n, n, elements=elements, end=-30 + 10 * n) for n in (1, 2, 3)))
    forth = np.array([flows.endpoints[code] for code in flows.src]) == "10.0.0.1"
    assert (flows.octets[forth].sum(), flows.octets[~forth].sum(), flows.packets[~forth].sum()) == (300, 210, 3)
    again = decoder.decode(batch(message(300, 280, 4, elements=elements, end=5)))
    assert (again.octets.tolist(), decoder.tally["records dropped: running total did not increase"]) == ([70], 1)
    x.check_laws(decoder.tally, decoder.exporters)


def test_flows_that_differ_in_port_interface_domain_or_exporter_have_totals_of_their_own():
    given = [message(100, elements=((85,),), **more) for more in ({}, {"port": 5}, {"domain": 2}, {"interface": 1})]
    given.append(message(100, elements=((85,),), interface=2))
    flows, decoder = decoded(*given)
    assert flows.octets.tolist() == [100] * 5
    assert len(decoder.decode(batch(given[0]))) == 0
    assert decoder.decode(batch(given[0], sender=x.B)).octets.tolist() == [100]


def test_counts_that_are_no_totals_are_left_as_they_are():
    flows, _ = decoded(*(message(100, 10 * n, elements=((1,), (86,)), end=-30 + n) for n in (1, 2)))
    assert (flows.octets.tolist(), flows.packets.tolist()) == ([100, 100], [10, 10])


def test_nothing_is_compiled_once_it_is_warm():
    warm()
    known = [len(loop.overloads) for loop in (follow_totals, put_rows)]
    for begin in (0, 2000):
        added(Totals(), *((key, 0, 1, 1, 1) for key in range(begin, begin + 1500)))
    assert [len(loop.overloads) for loop in (follow_totals, put_rows)] == known


def test_a_reset_is_counted():
    flows, decoder = decoded(*(message(n, elements=((85,),), end=-30 + i) for i, n in enumerate((500, 100))))
    assert flows.octets.sum() == 600
    assert decoder.tally["running totals restarted"] == decoder.exporters[x.A]["running totals restarted"] == 1
