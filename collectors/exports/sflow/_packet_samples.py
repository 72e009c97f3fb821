"""List the samples in a batch of sFlow datagrams: agent, sampling rate, outcome."""

from __future__ import annotations

import numpy as np

from collectors.addresses.address_texts import address
from collectors.columns.grouping import numbered_pairs
from collectors.columns.record import Codes, Ints, Mask
from collectors.exports import counter_names
from collectors.exports.counter_names import DATAGRAMS, RECORDS
from collectors.exports.datagrams import Datagrams
from collectors.exports.sampled_frames import Columns
from collectors.exports.sflow import sample_loops as walks
from collectors.exports.tallies import Accounts

_TOLD = np.array([fault not in (walks.SHORT, walks.VERSION, walks.AGENT) for fault in range(len(walks.FAULTS))])
TOO_MANY = "too many exporters"


class Samples:
    """Samples of a batch. `agent` of each datagram, `exporter` of each sample: codes into `agents`, one more for unknown."""

    def __init__(self, datagrams: Datagrams) -> None:
        self.datagrams = datagrams
        n, octets = len(datagrams), datagrams.octets
        many = -1
        for room in (8 * n, int(datagrams.length.sum()) // 8):
            if many < 0:
                self.heads: Ints = np.zeros((walks.HEADS, n), np.int64)
                table: Ints = np.full((walks.COLUMNS, room + 1), -1, np.int64)
                many = walks.unpack_datagrams(octets, datagrams.offset, datagrams.length, self.heads, table)
        self.columns = table[:, :many].copy()
        self.count_all = many
        self.status: Ints = self.heads[walks.FAULT].copy()
        good = np.flatnonzero(_TOLD[self.status])
        halves = self.heads[: walks.AGENT_LOW + 1, good]
        first, which = numbered_pairs(*halves)
        self.agents = tuple(address(int(high) % (1 << 64), int(low) % (1 << 64)) for high, low in halves[:, first].T)
        self.agent: Codes = np.full(n, len(self.agents), np.int32)
        self.agent[good] = which
        self.exporter: Codes = self.agent[self.columns[walks.DATAGRAM]]

    def refuse(self, agents: Mask) -> None:
        """Remove the samples of these agents."""
        if agents.any():
            refused = agents[self.agent]
            self.status[refused] = len(walks.FAULTS)
            self.columns = self.columns[:, ~refused[self.columns[walks.DATAGRAM]]]
            self.agent[refused] = len(self.agents)
            self.count_all = self.columns.shape[1]
            self.exporter = self.agent[self.columns[walks.DATAGRAM]]

    def of(self, *kinds: int) -> Ints:
        """Select the valid samples of these kinds."""
        chosen = np.isin(self.columns[walks.KIND], kinds) & (self.columns[walks.BAD] < 0)
        return np.flatnonzero(chosen).astype(np.int64)

    def received_ns(self, rows: Ints) -> Ints:
        """Return the arrival time of samples' datagrams."""
        datagrams: Ints = self.columns[walks.DATAGRAM, rows]
        return self.datagrams.received_ns[datagrams]

    def time_ns(self, rows: Ints) -> Ints:
        """Return the sampling time, as far as known."""
        said = self.columns[walks.TIME, rows]
        return np.where(said > 0, said, self.received_ns(rows))

    def seen(self, rows: Ints, which: Ints, columns: Columns) -> Columns:
        """Return columns of evidence that identify the packet; `columns` describe the samples `which`."""
        s = self.columns
        place = np.full(self.count_all, -1, np.int64)
        place[which] = np.arange(len(which))
        at = place[rows]
        told: Columns = {"time_ns": self.time_ns(rows), "exporter": self.exporter[rows], "queue": s[walks.QUEUE, rows]}
        told |= {"in_interface": s[walks.IN, rows], "out_interface": s[walks.OUT, rows]}
        for name, unknown in (("src", -1), ("dst", -1), ("dst_qp", 0)):
            told[name] = np.full(len(rows), unknown, np.int64)
            told[name][at >= 0] = columns[name][at[at >= 0]]
        return told

    def count(self, accounts: Accounts) -> None:
        """Count datagrams and samples."""
        bad = self.columns[walks.BAD] >= 0
        accounts.add_all(counter_names.counter(DATAGRAMS, counter_names.RECEIVED), self._who())
        accounts.add_all(counter_names.counter(DATAGRAMS, counter_names.DECODED), self._who()[self.status == 0])
        for code in np.unique(self.status[self.status > 0]).tolist():
            reason = (*walks.FAULTS, TOO_MANY)[code]
            accounts.add_all(counter_names.error(DATAGRAMS, reason), self._who()[self.status == code])
        cut = np.where(self.status == len(walks.FAULTS), 0, self.heads[walks.CUT])
        accounts.add_all(counter_names.counter(RECORDS, counter_names.RECEIVED), self.exporter)
        accounts.add_all(counter_names.counter(RECORDS, counter_names.RECEIVED), self._who(), cut)
        accounts.add_all(counter_names.counter(RECORDS, counter_names.DECODED), self.exporter[~bad])
        accounts.add_all(counter_names.error(RECORDS, walks.FAULTS[walks.SAMPLE]), self.exporter[bad])
        accounts.add_all(counter_names.error(RECORDS, walks.FAULTS[walks.CUT_OFF]), self._who(), cut)

    def _who(self) -> Codes:
        return self.agent
