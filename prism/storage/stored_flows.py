"""Read flow records from the store by time, and their sums by pair, computed by the database."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from collectors.addresses import address_halves
from collectors.clickhouse.drivers import Database
from collectors.columns.record import Flows
from collectors.store import flow_rows
from collectors.store.flow_rows import ENDS, FLOWS, MINUTE, PAIRS
from prism.jobs.endpoint_pairs import Pairs

BETWEEN = "{time} >= {{{name}_first:Int64}} AND {time} < {{{name}_end:Int64}}"


class StoredRecords:
    """Records of a store; see `prism.tracking.flow_sources.Records`. Creates missing tables. Raises StoreError."""

    def __init__(self, database: Database, *, create: bool = True) -> None:
        self._database = database
        for table in (FLOWS, PAIRS) if create else ():
            database.create(table)

    def between(self, start_ns: int, end_ns: int, *, endpoints: Collection[str] = (), limit: int | None = None) -> Flows:
        """Return records, see `Records`; codes are in order of address."""
        sql = f"SELECT {flow_rows.selected()} FROM {FLOWS.name} WHERE {_bucketed('at')}"
        parameters: dict[str, object] = {"at_first": int(start_ns), "at_end": int(end_ns)}
        if endpoints:
            condition, ends = address_halves.endpoint_condition(endpoints)
            sql += f" AND {condition}"
            parameters |= ends
        if limit is None:
            return _by_start(flow_rows.flows_of(self._database.query(sql, parameters)))
        sql += " ORDER BY start_ns LIMIT {limit:UInt64}"
        parameters["limit"] = max(0, int(limit))
        return _by_start(flow_rows.flows_of(self._database.query(sql, parameters)))

    def pairs(self, start_ns: int, end_ns: int) -> Pairs:
        """Sum the records that start in [start_ns, end_ns) by pair.

        Whole minutes come from the table of pairs, which is kept longer; the rest from the records.
        """
        begin, end = -(-start_ns // MINUTE) * MINUTE, end_ns // MINUTE * MINUTE
        inner = begin < end
        edges = ((start_ns, begin), (end, end_ns)) if inner else ((start_ns, end_ns), (end_ns, end_ns))
        names, parameters = ("before", "after"), dict[str, object]()
        for name, (first, last) in zip(names, edges, strict=True):
            parameters |= {f"{name}_first": int(first), f"{name}_end": int(last)}
        parameters |= {"inner_first": int(begin), "inner_end": int(end if inner else begin)}
        ends = ", ".join(ENDS)
        raw = [f"SELECT {ends}, octets, toUInt64(1) AS records, start_ns AS first_ns, end_ns AS last_ns FROM {FLOWS.name}"] * 2
        parts = [f"{sql} WHERE {_bucketed(name)}" for sql, name in zip(raw, names, strict=True)]
        parts.append(
            f"SELECT {ends}, toUInt64(octets) AS octets, toUInt64(records) AS records, toInt64(first_ns) AS first_ns, "
            f"toInt64(last_ns) AS last_ns FROM {PAIRS.name} WHERE {BETWEEN.format(time='minute_ns', name='inner')}"
        )
        sums = "sum(octets) AS o, sum(records) AS r, min(first_ns) AS f, max(last_ns) AS l"
        found = self._database.query(f"SELECT {ends}, {sums} FROM ({' UNION ALL '.join(parts)}) GROUP BY {ends}", parameters)
        return _pairs(found)


def _bucketed(name: str) -> str:
    """Build a condition on the start that also uses the first expression of the order, for the index of old servers."""
    bucket = flow_rows.BUCKET_NS
    index = f"intDiv(start_ns, {bucket}) >= intDiv({{{name}_first:Int64}}, {bucket})"
    index += f" AND intDiv(start_ns, {bucket}) <= intDiv({{{name}_end:Int64}}, {bucket})"
    return f"{BETWEEN.format(time='start_ns', name=name)} AND {index}"


def _by_start(flows: Flows) -> Flows:
    return flows.take(np.argsort(flows.start_ns, kind="stable"))


def _pairs(found: dict[str, NDArray[np.uint64]]) -> Pairs:
    ends = (np.stack([found[f"{end}_high"], found[f"{end}_low"]], axis=1).astype(np.uint64) for end in ("src", "dst"))
    (src, dst), endpoints = address_halves.code_halves(*ends)
    numbers = {name: found[name[0]].astype(np.int64) for name in ("octets", "records", "first_ns", "last_ns")}
    order = np.lexsort((dst, src))
    return Pairs(src[order], dst[order], **{name: values[order] for name, values in numbers.items()}, endpoints=endpoints)
