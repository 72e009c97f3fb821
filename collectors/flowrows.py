"""Flow records as rows of the store: their table and that of pairs follow from `record.COLUMNS`.

A time is kept as a whole number of ns, an address as two whole numbers, its upper and lower 64 bits (IPv4 mapped, RFC 4291
section 2.5.5.2): every driver moves those without making an object of each. Columns by the names people look for are there too,
computed when asked for.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collectors.record import COLUMNS, Codes, Column, Flows, Ints, Mask
from collectors.tables import BATCH, Table, TableColumn

DAY = 86_400
KEEP_S, PAIRS_KEEP = 7 * DAY, 10  # rows of pairs are kept for so many times as long
MOST_KEPT_S = 50 * 365 * DAY  # a DateTime, of which TTL is made, ends in 2106
BUCKET_NS = 300 * 10**9  # rows are in order of five minutes, then of addresses (akvorado)
MINUTE = 60 * 10**9
HALVES = ("_high", "_low")
MAPPED = 0xFFFF
HEX = "substring(concat('0000000000000000', hex({0}_{1})), -16)"
SHOWN = (
    "if({0}_high = 0 AND intDiv({0}_low, 4294967296) = 65535, IPv4NumToString(toUInt32({0}_low % 4294967296)), "
    f"IPv6NumToString(toFixedString(unhex(concat({HEX.format('{0}', 'high')}, {HEX.format('{0}', 'low')})), 16)))"
)
CODECS = {"Int64": "Delta, ZSTD(1)", "UInt64": "T64, ZSTD(1)", "UInt32": "T64, ZSTD(1)"}
SUMS = ("octets", "packets", "messages", "retransmits", "ecn", "cnp")


def _kept(column: Column) -> tuple[TableColumn, ...]:
    """The columns of the store for one of a record."""
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
    return TableColumn(name, "SimpleAggregateFunction(sum, UInt64)", plain="UInt64")


ENDS = tuple(end + half for end in ("src", "dst") for half in HALVES)
FLOWS = Table(
    "flows",
    (*(kept for column in COLUMNS for kept in _kept(column)), TableColumn(BATCH, "UInt64", codec="ZSTD(1)")),
    (
        f"intDiv(start_ns, {BUCKET_NS})",
        "src_low",
        "dst_low",
        "start_ns",
    ),  # upper halves tell little, and cost
    time="start_ns",
    keep_s=KEEP_S,
)
PAIRS = Table(
    "flow_pairs",
    (
        TableColumn("minute_ns", "Int64", codec="DoubleDelta, ZSTD(1)"),
        *(TableColumn(name, "UInt64", codec="ZSTD(1)") for name in ENDS),
        *(TableColumn(end, "String", alias=SHOWN.format(end)) for end in ("src", "dst")),
        _summed("records"),
        *map(_summed, SUMS),
        TableColumn("first_ns", "SimpleAggregateFunction(min, Int64)", plain="Int64"),
        TableColumn("last_ns", "SimpleAggregateFunction(max, Int64)", plain="Int64"),
    ),
    ("minute_ns", *ENDS),
    time="minute_ns",
    keep_s=KEEP_S * PAIRS_KEEP,
    summing=True,
)
TABLES = (FLOWS, PAIRS)


def kept_for(keep_s: int) -> tuple[Table, Table]:
    """The tables of flows and pairs where flows are kept for so many seconds, at most `MOST_KEPT_S`."""
    if keep_s > MOST_KEPT_S:
        raise ValueError(f"rows are kept for at most {MOST_KEPT_S // 86_400} days")
    return replace(FLOWS, keep_s=keep_s), replace(PAIRS, keep_s=min(keep_s * PAIRS_KEEP, MOST_KEPT_S))


@lru_cache(1 << 17)
def halves(address: str) -> tuple[int, int] | None:
    """The upper and lower 64 bits of an address; None for what is none."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return None
    number = MAPPED << 32 | int(known) if known.version == 4 else int(known)
    return number >> 64, number & 0xFFFFFFFFFFFFFFFF


def addressed(flows: Flows) -> Mask:
    """Which records are from an address to an address."""
    good = np.array([halves(name) is not None for name in flows.endpoints] or [False])
    return np.asarray(good[flows.src] & good[flows.dst])


def rows(flows: Flows) -> dict[str, Any]:
    """The columns of `FLOWS` but for the batch's number. Every record is from an address to an address."""
    table = np.array([halves(name) or (0, 0) for name in flows.endpoints] or [(0, 0)], np.uint64)
    found: dict[str, Any] = {}
    for column in COLUMNS:
        values = getattr(flows, column.name)
        if column.clickhouse == "IPv6":
            for i, half in enumerate(HALVES):
                found[column.name + half] = table[:, i][values]
        elif column.clickhouse == "LowCardinality(String)":
            found[column.name] = pa.DictionaryArray.from_arrays(pa.array(values), pa.array(_texts(column.name, flows)))
        elif column.clickhouse.startswith("UInt"):
            kind = np.dtype(column.clickhouse.lower())
            most = np.iinfo(kind).max
            found[column.name] = (np.clip(values, 0, most) if values.dtype.itemsize >= kind.itemsize else values).astype(kind)
        else:
            found[column.name] = values
    return found


def pair_rows(flows: Flows) -> dict[str, NDArray[Any]]:
    """The columns of `PAIRS`: what went from one address to another in a minute."""
    minute = flows.start_ns // MINUTE
    first, many = int(minute.min(initial=0 if not len(minute) else minute[0])), max(1, len(flows.endpoints))
    key = ((minute - first) * many + flows.src) * many + flows.dst
    sums = {name: pa.array(np.maximum(getattr(flows, name), 0)) for name in SUMS}
    table = pa.table({"key": key, "first_ns": flows.start_ns, "last_ns": flows.end_ns, **sums})
    asked = [*((name, "sum") for name in SUMS), ("first_ns", "min"), ("last_ns", "max"), ("key", "count")]
    found = table.group_by("key", use_threads=False).aggregate(asked)
    keys = found["key"].to_numpy()
    ends = np.array([halves(name) or (0, 0) for name in flows.endpoints] or [(0, 0)], np.uint64)
    src, dst = keys // many % many, keys % many
    return {
        "minute_ns": (keys // many // many + first) * MINUTE,
        **{f"{end}{half}": ends[:, i][codes] for end, codes in (("src", src), ("dst", dst)) for i, half in enumerate(HALVES)},
        "records": found["key_count"].to_numpy().astype(np.uint64),
        **{name: found[f"{name}_sum"].to_numpy().astype(np.uint64) for name in SUMS},
        "first_ns": found["first_ns_min"].to_numpy(),
        "last_ns": found["last_ns_max"].to_numpy(),
    }


def selected() -> str:
    """What to ask of `FLOWS` for `flows_of`."""
    return ", ".join(c.name for c in FLOWS.kept(plain=False) if c.name != BATCH)


def flows_of(answer: Mapping[str, NDArray[Any]]) -> Flows:
    """The records of an answer to `selected`, in its order."""
    ends = tuple(np.stack([answer[end + half] for half in HALVES], axis=1) for end in ("src", "dst"))
    (src, dst), endpoints = coded(*ends)
    exporter, exporters = _coded(answer["exporter"])
    path, ways = _coded(answer["path"])
    paths = ((), *(tuple(way.split("|")) for way in ways if way))
    place = np.array([0 if not way else paths.index(tuple(way.split("|"))) for way in ways] or [0], np.int32)
    numbers = {c.name: answer[c.name] for c in COLUMNS if c.name in answer and c.name not in ("exporter", "path")}
    columns = {**numbers, "src": src, "dst": dst, "exporter": exporter, "path": place[path]}
    return Flows.build(columns, endpoints=endpoints, exporters=exporters, paths=paths)


def coded(*ends: NDArray[np.uint64]) -> tuple[tuple[Codes, ...], tuple[str, ...]]:
    """Codes of addresses given as [n, 2] halves each, and their texts, in order of address."""
    whole = np.concatenate(ends)
    order = np.lexsort((whole[:, 1], whole[:, 0]))
    ordered = whole[order]
    new = np.ones(len(whole), np.bool_)
    new[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    codes = np.empty(len(whole), np.int32)
    codes[order] = np.cumsum(new) - 1
    texts = tuple(text(high, low) for high, low in ordered[new].tolist())
    return tuple(np.split(codes, np.cumsum([len(end) for end in ends])[:-1])), texts


def text(high: int, low: int) -> str:
    """An address as text, from its halves."""
    known = ipaddress.IPv6Address(high << 64 | low)
    return str(known.ipv4_mapped or known)


def among(endpoints: Collection[str]) -> tuple[str, dict[str, Any]]:
    """A condition that both ends are among endpoints, and its parameters."""
    known = sorted({pair for pair in map(halves, endpoints) if pair})
    highs = sorted({high for high, _ in known})
    parameters: dict[str, Any] = {"high": highs, "low": sorted({low for _, low in known}), "both": known}
    parts = [f"{end}_{half} IN {{{half}:Array(UInt64)}}" for end in ("src", "dst") for half in ("high", "low")]
    if len(highs) > 1:  # else the halves say it all, and an index reads them faster
        parts += [f"({end}_high, {end}_low) IN {{both:Array(Tuple(UInt64, UInt64))}}" for end in ("src", "dst")]
    return " AND ".join(parts), parameters


def pieces(start_ns: Ints, partition_ns: int) -> dict[int, NDArray[np.intp]]:
    """The rows of each partition, by its number."""
    number = start_ns // partition_ns if partition_ns else np.zeros(len(start_ns), np.int64)
    if not len(number) or number.min() == number.max():
        return {int(number[0]): np.arange(len(number))} if len(number) else {}
    return {int(one): np.flatnonzero(number == one) for one in np.unique(number)}


def _texts(column: str, flows: Flows) -> list[str]:
    if column == "path":
        return ["|".join(way) for way in flows.paths] or [""]
    return list(flows.exporters) or [""]


def _coded(values: NDArray[Any]) -> tuple[Codes, tuple[str, ...]]:
    found = pa.array(values, pa.string()).dictionary_encode()
    return found.indices.to_numpy().astype(np.int32), tuple(found.dictionary.to_pylist())
