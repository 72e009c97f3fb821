import numpy as np

from collectors.columns.losses import COLUMNS, Losses, concatenate_losses


def losses(*rows, exporters=("s1", "s2"), endpoints=("a", "b", "c")):
    """Rows of (start, exporter, src, dst, reason, packets)."""
    columns = dict(zip(("start_ns", "exporter", "src", "dst", "reason", "packets"), zip(*rows, strict=True), strict=True))
    columns |= {"end_ns": [start + 5 for start in columns["start_ns"]]}
    columns |= {name: [-1] * len(rows) for name in ("in_interface", "out_interface")}
    return Losses.build(columns, exporters, endpoints)


def named(found):
    ends = (*found.endpoints, "-")
    columns = zip(found.start_ns, found.exporter, found.src, found.dst, found.reason, found.packets, strict=True)
    return [(int(t), found.exporters[e], ends[a], ends[b], int(r), int(n)) for t, e, a, b, r, n in columns]


def test_names_that_no_row_uses_are_left_out():
    found = losses((7, 1, 2, -1, 259, 4))
    assert named(found) == [(7, "s2", "c", "-", 259, 4)]
    assert (found.exporters, found.endpoints) == (("s2",), ("c",))
    assert all(getattr(found, name).dtype == (np.int32 if name in ("exporter", "src", "dst") else np.int64) for name in COLUMNS)


def test_parts_with_dictionaries_of_their_own_are_one():
    one, other = losses((1, 0, 0, 1, 259, 1)), losses((2, 0, 1, -1, -1, 9), exporters=("s2",), endpoints=("b", "a"))
    assert named(concatenate_losses([one, Losses.empty(), other])) == [(1, "s1", "a", "b", 259, 1), (2, "s2", "a", "-", -1, 9)]
    assert concatenate_losses([one]) is one
    assert len(concatenate_losses([])) == len(concatenate_losses([Losses.empty()])) == 0


def test_rows_are_taken_and_moved():
    found = losses((1, 0, 0, 1, 259, 1), (2, 1, 1, 0, 259, 2)).take(slice(1, None)).moved(10)
    assert named(found) == [(12, "s2", "b", "a", 259, 2)]
    assert found.end_ns.tolist() == [17]
