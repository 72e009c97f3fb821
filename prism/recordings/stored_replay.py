"""Store recorded flow records and read them again: a replay whose records stay available for pages."""

from __future__ import annotations

import hashlib
import time

from collectors.clickhouse import drivers
from collectors.clickhouse.schema import MAX_ROWS
from collectors.columns.record import COLUMNS, Flows
from collectors.store import flow_rows
from prism.storage.stored_flows import StoredRecords


def through(store: str, flows: Flows) -> Flows:
    """Write records to a `store` (see `clickhouse.opened`), and return its records of that time, by start.

    Identical records are stored once. A new store keeps records as long as possible, because recordings may be old. Raises
    StoreError; ValueError if a record has an end that is no address, or is older than the store's retention.
    """
    if not len(flows):
        return flows
    if not flow_rows.have_addresses(flows).all():
        raise ValueError("records between names instead of IP addresses cannot be written to a store")
    first, last = int(flows.start_ns.min()), int(flows.start_ns.max())
    database = drivers.opened(store)
    try:
        tables = flow_rows.tables_kept_for(flow_rows.MAX_KEEP_S)
        for table in tables:
            database.create(table)
        known, rolled = (database.registered(table.name) or {} for table in tables)
        if first < time.time_ns() - known["keep_s"] * 10**9:
            raise ValueError(
                f"{store}: keeps records for {known['keep_s'] / 86_400:.0f} days, and these are older; "
                "use a longer --keep or another store"
            )
        for number, rows in flow_rows.split_partitions(flows.start_ns, known["partition_ns"]).items():
            for start in range(0, len(rows), MAX_ROWS):
                part = flows.take(rows[start : start + MAX_ROWS])
                token = f"{_digest(part)}-{number}"
                part = flow_rows.sort_records(part)
                database.insert(tables[0], flow_rows.to_rows(part), token=token, again=True)
                for own, pairs in flow_rows.pair_pieces(part, rolled["partition_ns"], token):
                    database.insert(tables[1], pairs, token=own, again=True)
        return StoredRecords(database, create=False).between(first, last + 1)
    finally:
        database.close()


def _digest(flows: Flows) -> str:
    """Digest of records, equal for equal records."""
    digest = hashlib.blake2s(repr((tuple(flows.endpoints), flows.exporters, flows.paths)).encode(), digest_size=16)
    for column in COLUMNS:
        digest.update(getattr(flows, column.name).tobytes())
    return digest.hexdigest()
