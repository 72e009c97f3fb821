import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.columns.record import Flows
from prism.rates.rate_series import series, spread
from prism.topology import Endpoint, Topology

NAMES = ("10.0.0.1", "10.0.0.2", "10.0.0.3")
TOPOLOGY = Topology({name: Endpoint(f"h{i}", 0, f"leaf{i % 2}") for i, name in enumerate(NAMES)})


def flows(*rows, path=()):
    """Records (start, end, src, dst, octets)."""
    start, end, src, dst, octets = zip(*rows, strict=True)
    columns = {
        "start_ns": start,
        "end_ns": end,
        "src": src,
        "dst": dst,
        "octets": octets,
        "path": [1 if path else 0] * len(rows),
    }
    return Flows.build(columns, endpoints=NAMES, paths=((), path) if path else ((),))


def test_octets_are_spread_over_the_time_of_a_record():
    made = flows((0, 400, 0, 1, 400), (100, 200, 1, 0, 100))
    found = series(made, None, "endpoint", 0, 400, 4)
    rates = {(name, way): own for name, way, own in zip(found.names, found.ways, found.gbit_s, strict=True)}
    np.testing.assert_allclose(rates["10.0.0.1", "out"], [8, 8, 8, 8])  # an octet per ns is 8 Gbit/s
    np.testing.assert_allclose(rates["10.0.0.1", "in"], [0, 8, 0, 0])
    assert ("10.0.0.3", "out") not in rates


def test_pairs_links_and_switches_have_their_rates():
    made = flows((0, 100, 0, 1, 100), (0, 100, 0, 2, 50), path=("leaf0", "spine0", "leaf1"))
    pairs = series(made, None, "pair", 0, 100, 1)
    assert dict(zip(pairs.names, pairs.gbit_s[:, 0].tolist(), strict=True)) == pytest.approx(
        {"10.0.0.1>10.0.0.2": 8.0, "10.0.0.1>10.0.0.3": 4.0}
    )
    links = series(made, None, "link", 0, 100, 1)
    assert dict(zip(links.names, links.gbit_s[:, 0].tolist(), strict=True)) == pytest.approx(
        {"leaf0>spine0": 12.0, "spine0>leaf1": 12.0}
    )
    switches = series(made, TOPOLOGY, "switch", 0, 100, 1)
    assert set(zip(switches.names, switches.ways, strict=True)) == {
        ("leaf0", "out"),
        ("spine0", "in"),
        ("spine0", "out"),
        ("leaf1", "in"),
    }
    attached = series(flows((0, 100, 0, 2, 50)), TOPOLOGY, "switch", 0, 100, 1)  # both below leaf0
    assert dict(
        zip(zip(attached.names, attached.ways, strict=True), attached.gbit_s[:, 0].tolist(), strict=True)
    ) == pytest.approx({("leaf0", "in"): 4.0, ("leaf0", "out"): 4.0})


def test_the_largest_come_first_and_names_can_be_chosen():
    made = flows((0, 100, 0, 1, 100), (0, 100, 2, 1, 900))
    found = series(made, None, "endpoint", 0, 100, 1)
    assert found.largest(1).names == ("10.0.0.2",)
    assert found.of(["10.0.0.3", "nobody"]).names == ("10.0.0.3",)


RECORD = st.tuples(st.integers(0, 900), st.integers(0, 300), st.integers(0, 2), st.integers(0, 2), st.integers(0, 10**6))


@given(st.lists(RECORD, min_size=1, max_size=20), st.integers(1, 30))
def test_no_octet_is_lost_or_made(rows, bins):
    """As a loop over records and bins does it."""
    made = flows(*((start, start + took, src, dst, octets) for start, took, src, dst, octets in rows))
    found = spread(made, np.arange(len(made)), made.src.astype(np.int64), 3, 0, 1000, bins)
    plain = np.zeros((3, bins))
    width = 1000 / bins
    for start, took, src, _, octets in rows:
        begin, end = start / width, max((start + took) / width, start / width + 1e-9)
        for bin_ in range(bins):
            inside = max(min(end, bin_ + 1) - max(begin, bin_), 0)
            plain[src, bin_] += octets * inside / (end - begin)
    np.testing.assert_allclose(found, plain, rtol=1e-4, atol=1e-2)


def test_nothing_is_an_empty_answer():
    none = Flows.build({"start_ns": []}, endpoints=())
    for by in ("endpoint", "pair", "link", "switch"):
        assert series(none, None, by, 0, 1, 5).names == ()
