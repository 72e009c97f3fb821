"""Convert flow records to rows of the store; the tables of records and of pairs are derived from `record.COLUMNS`.

A time is stored as an integer of ns, an address as two integers, its upper and lower 64 bits (IPv4 mapped, RFC 4291 section
2.5.5.2): every driver transfers these without an object per value. Columns with readable values exist too, computed on demand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collectors.addresses.address_halves import HALVES, code_halves, table_of, valid_addresses
from collectors.clickhouse.tables import BATCH, COUNT, Table, TableColumn
from collectors.columns.record import COLUMNS, Codes, Column, Flows, Ints, Mask
from collectors.store._row_aggregation import bounds, picked, runs, sort_keys, sums

DAY = 86_400
KEEP_S, PAIRS_KEEP = 7 * DAY, 10  # rows of pairs are kept so many times as long
MAX_KEEP_S = 50 * 365 * DAY  # a DateTime, the base of TTL, ends in 2106
BUCKET_NS = 300 * 10**9  # rows are sorted by five minutes, then by addresses (akvorado)
MINUTE = 60 * 10**9
HEX = "substring(concat('0000000000000000', hex({0}_{1})), -16)"
SHOWN = (
    "if({0}_high = 0 AND intDiv({0}_low, 4294967296) = 65535, IPv4NumToString(toUInt32({0}_low % 4294967296)), "
    f"IPv6NumToString(toFixedString(unhex(concat({HEX.format('{0}', 'high')}, {HEX.format('{0}', 'low')})), 16)))"
)
CODECS = {"Int64": "T64, LZ4", "UInt64": "T64, ZSTD(1)", "UInt32": "T64, ZSTD(1)"}  # chosen by size and time: benchmarks.store
SUMS = ("octets", "packets", "messages", "retransmits", "ecn", "cnp")


def _kept(column: Column) -> tuple[TableColumn, ...]:
    """Return the columns of the store for one of a record."""
    name = column.name
    if column.clickhouse == "IPv6":
        halves = tuple(TableColumn(name + half, "UInt64", codec="ZSTD(1)") for half in HALVES)
        return (*halves, TableColumn(name, "String", alias=SHOWN.format(name)))
    if column.clickhouse == "DateTime64(9)":
        seconds = f"toDateTime(intDiv({name}, 1000000000))"
        shown = TableColumn(name.removesuffix("_ns") + "_time", "DateTime", alias=seconds)
        return (TableColumn(name, "Int64", codec=CODECS["Int64"]), shown)
    if column.clickhouse == "LowCardinality(String)":
        return (TableColumn(name, column.clickhouse, plain="String"),)
    return (TableColumn(name, column.clickhouse, codec=CODECS.get(column.clickhouse, "ZSTD(1)")),)


def _summed(name: str) -> TableColumn:
    return TableColumn(name, "SimpleAggregateFunction(sum, UInt64)", plain="UInt64", codec=CODECS["Int64"])


ENDS = tuple(end + half for end in ("src", "dst") for half in HALVES)
FLOWS = Table(
    "flows",
    (*(kept for column in COLUMNS for kept in _kept(column)), TableColumn(BATCH, "UInt64", codec="ZSTD(1)")),
    (
        f"intDiv(start_ns, {BUCKET_NS})",
        "src_low",
        "dst_low",
        "start_ns",
    ),  # upper halves add cost and little information
    time="start_ns",
    keep_s=KEEP_S,
)
PAIRS = Table(
    "flow_pairs",
    (
        TableColumn("minute_ns", "Int64", codec=CODECS["Int64"]),
        *(TableColumn(name, "UInt64", codec=CODECS["Int64"]) for name in ENDS),
        *(TableColumn(end, "String", alias=SHOWN.format(end)) for end in ("src", "dst")),
        _summed(COUNT),
        *map(_summed, SUMS),
        TableColumn("first_ns", "SimpleAggregateFunction(min, Int64)", plain="Int64", codec=CODECS["Int64"]),
        TableColumn("last_ns", "SimpleAggregateFunction(max, Int64)", plain="Int64", codec=CODECS["Int64"]),
    ),
    ("minute_ns", *ENDS),
    time="minute_ns",
    keep_s=KEEP_S * PAIRS_KEEP,
    summing=FLOWS,
    bucket_ns=MINUTE,
)
TABLES = (FLOWS, PAIRS)


def tables_kept_for(keep_s: int) -> tuple[Table, Table]:
    """Declare the tables of flows and pairs with a retention of `keep_s` seconds, at most `MAX_KEEP_S`."""
    if keep_s > MAX_KEEP_S:
        raise ValueError(f"rows are kept for at most {MAX_KEEP_S // 86_400} days")
    return replace(FLOWS, keep_s=keep_s), replace(PAIRS, keep_s=min(keep_s * PAIRS_KEEP, MAX_KEEP_S))


def have_addresses(flows: Flows) -> Mask:
    """Mark the records whose both ends are addresses."""
    good = valid_addresses(flows.endpoints)
    return np.broadcast_to(np.True_, len(flows)) if good.all() else np.asarray(good[flows.src] & good[flows.dst])


def sort_records(flows: Flows) -> Flows:
    """Sort records in the order of `FLOWS`, which saves the engine's sort, more than half of the work of an insert.

    A constant column becomes a view of its value, which is not copied afterwards.
    """
    if not len(flows):
        return flows
    columns: dict[str, Any] = {c.name: _one(getattr(flows, c.name)) for c in COLUMNS}
    flows = replace(flows, **columns)
    start, ends = flows.start_ns, (flows.src, flows.dst)
    early = None if np.all(start[1:] >= start[:-1]) else np.argsort(start, kind="stable")
    if early is not None:
        start, ends = start[early], (flows.src[early], flows.dst[early])
    low = table_of(flows.endpoints)[:, 1]
    rank = np.unique(low, return_inverse=True)[1].astype(np.int64)
    last, bits = int(start[-1] // BUCKET_NS - start[0] // BUCKET_NS), len(flows).bit_length()
    if ((last + 1) * len(low) ** 2) << bits >= 1 << 63:
        order = np.lexsort((rank[ends[1]], rank[ends[0]], start // BUCKET_NS))
    else:
        order = sort_keys(start, ends, rank, BUCKET_NS, bits)
        order.sort()  # numbers, which is faster than places
        order &= (1 << bits) - 1
    places = (order if early is None else early[order]).astype(np.uint32)
    columns |= picked({name: (values, places) for name, values in columns.items() if values.strides != (0,)})
    return replace(flows, **columns)


def to_rows(flows: Flows) -> dict[str, Any]:
    """Make the columns of `FLOWS` without the batch number. Both ends of every record must be addresses."""
    table = table_of(flows.endpoints)
    found: dict[str, Any] = _looked_up(table, {"src": flows.src, "dst": flows.dst})
    for column in COLUMNS:
        values = getattr(flows, column.name)
        if column.clickhouse == "IPv6":
            continue
        if column.clickhouse == "LowCardinality(String)":
            texts = _texts(column.name, flows)
            one = values.strides == (0,) and len(values)
            dictionary = pa.DictionaryArray.from_arrays(pa.array(values), pa.array(texts)) if not one else None
            found[column.name] = np.broadcast_to(np.array(texts[values[0]], object), len(values)) if one else dictionary
        elif column.clickhouse.startswith("UInt"):
            found[column.name] = _fitted(values, np.dtype(column.clickhouse.lower()))
        else:
            found[column.name] = values
    return found


def pair_rows(flows: Flows) -> dict[str, NDArray[Any]]:
    """Make the columns of `PAIRS`: traffic between two addresses per minute, from records sorted by `sort_records`.

    With records in another order a pair may have several rows, which the table sums.
    """
    at = runs(flows.start_ns, flows.src, flows.dst, MINUTE)
    minute = flows.start_ns[at] // MINUTE
    order = np.argsort(minute, kind="stable").astype(np.uint32)  # the table's order if upper halves are equal, as usual
    records = np.diff(at, append=len(flows))
    first, last = bounds(flows.start_ns, flows.end_ns, at)
    found: dict[str, Any] = {"minute_ns": minute * MINUTE, COUNT: records.astype(np.uint64)}
    found |= {name: _added(getattr(flows, name), at, records) for name in SUMS} | {"first_ns": first, "last_ns": last}
    ones = {name: values for name, values in found.items() if values.strides == (0,) and len(values)}
    ends = {end: getattr(flows, end)[at][order] for end in ("src", "dst")}
    varied = picked({name: (values, order) for name, values in found.items() if name not in ones})
    return {**varied, **ones, **_looked_up(table_of(flows.endpoints), ends)}


def pair_pieces(flows: Flows, partition_ns: int, token: str) -> list[tuple[str, dict[str, NDArray[Any]]]]:
    """Split `pair_rows` by partition of `PAIRS`, each with its own token: an insert is atomic within one partition."""
    whole = pair_rows(flows)
    split = split_partitions(whole["minute_ns"], partition_ns)
    if len(split) < 2:
        return [(token, whole)]
    return [(f"{token}-{number}", {name: values[at] for name, values in whole.items()}) for number, at in split.items()]


def selected() -> str:
    """Return the expressions to select from `FLOWS` for `flows_of`."""
    return ", ".join(c.name for c in FLOWS.kept(plain=False) if c.name != BATCH)


def flows_of(answer: Mapping[str, NDArray[Any]]) -> Flows:
    """Convert an answer to `selected` to records, in the same order."""
    ends = tuple(np.stack([answer[end + half] for half in HALVES], axis=1) for end in ("src", "dst"))
    (src, dst), endpoints = code_halves(*ends)
    exporter, exporters = _coded(answer["exporter"])
    path, ways = _coded(answer["path"])
    paths = ((), *(tuple(way.split("|")) for way in ways if way))
    place = np.array([0 if not way else paths.index(tuple(way.split("|"))) for way in ways] or [0], np.int32)
    numbers = {c.name: _one(answer[c.name]) for c in COLUMNS if c.name in answer and c.name not in ("exporter", "path")}
    columns = {**numbers, "src": src, "dst": dst, "exporter": exporter, "path": place[path]}
    return Flows.build(columns, endpoints=endpoints, exporters=exporters, paths=paths)


def split_partitions(start_ns: Ints, partition_ns: int) -> dict[int, NDArray[np.intp]]:
    """Return the rows of each partition, by its number."""
    number = start_ns // partition_ns if partition_ns else np.zeros(len(start_ns), np.int64)
    if not len(number) or number.min() == number.max():
        return {int(number[0]): np.arange(len(number))} if len(number) else {}
    return {int(one): np.flatnonzero(number == one) for one in np.unique(number)}


def _one(values: NDArray[Any]) -> NDArray[Any]:
    """Return a column; a view of the value if it is constant."""
    if values.strides == (0,) or not len(values) or values[0] != values[-1] or not (values == values[0]).all():
        return values
    return np.broadcast_to(values[:1].copy(), len(values))


def _looked_up(table: NDArray[np.uint64], ends: Mapping[str, Codes]) -> dict[str, NDArray[np.uint64]]:
    """Look up the halves of addresses by code; a view of the value if it is constant."""
    halved = {name + half: (table[:, i].copy(), codes) for name, codes in ends.items() for i, half in enumerate(HALVES)}
    ones = {name: values[codes[:1]] for name, (values, codes) in halved.items() if codes.strides == (0,) and len(codes)}
    ones |= {name: values[:1] for name, (values, _) in halved.items() if (values == values[0]).all()}
    varied = picked({name: one for name, one in halved.items() if name not in ones})
    return {n: varied[n] if n in varied else np.broadcast_to(ones[n], len(codes)) for n, (_, codes) in halved.items()}


def _fitted(values: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    """Convert numbers to the column's type, clipped to its range."""
    if values.strides == (0,) and len(values):
        return np.broadcast_to(_fitted(values[:1].copy(), kind), len(values))
    if values.dtype.itemsize >= kind.itemsize and values.dtype != kind and len(values):
        most = np.iinfo(kind).max
        if values.min() < 0 or values.max() > most:
            values = np.clip(values, 0, most)
    return values.view(kind) if values.dtype.itemsize == kind.itemsize else values.astype(kind)


def _added(values: NDArray[Any], at: Ints, counts: Ints) -> NDArray[np.uint64]:
    """Sum over runs that start at `at`."""
    if values.strides != (0,) or not len(values):
        return sums(values, at)
    most = max(int(values[0]), 0)
    return (counts * most).astype(np.uint64) if most else np.broadcast_to(np.uint64(0), len(at))


def _texts(column: str, flows: Flows) -> list[str]:
    if column == "path":
        return ["|".join(way) for way in flows.paths] or [""]
    return list(flows.exporters) or [""]


def _coded(values: NDArray[Any]) -> tuple[Codes, tuple[str, ...]]:
    found = pa.array(values, pa.string()).dictionary_encode()
    return found.indices.to_numpy().astype(np.int32), tuple(found.dictionary.to_pylist())
