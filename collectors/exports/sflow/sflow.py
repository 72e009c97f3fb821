"""Decode sFlow version 5 datagrams to flow records, one per sampled packet, and to evidence.

A sampled header is decoded by the packet decoder, down to the BTH; without one, the addresses and ports reported by the switch
are used. Octets are those of the one packet: payload with a header, else the IP packet.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from collections.abc import Callable

import numpy as np

from collectors.addresses.bounded_address_book import MAPPED
from collectors.columns.grouping import numbered_pairs
from collectors.columns.record import TCP, UDP, Codes, Flows, Ints
from collectors.exports import counter_names
from collectors.exports.counter_names import DATAGRAMS, RECORDS
from collectors.exports.datagrams import Datagrams
from collectors.exports.evidence import Counters, Delays, Drops, Evidence, Rows
from collectors.exports.sampled_frames import Columns, Frames
from collectors.exports.sequence_gaps import follow
from collectors.exports.sflow import sample_loops as walks
from collectors.exports.sflow._packet_samples import Samples
from collectors.exports.tallies import Accounts
from collectors.packets.frame_batch import PAD, gather

LINK_TYPES = {1: 1, 11: 228, 12: 229, 13: 219}  # header protocols (Ethernet, IPv4, IPv6, MPLS) to link types of captures
NO_FLOW, NO_PACKET, OTHER = "frame not decoded", "no packet in the sample", "unknown type of sample"
MAX_SEQUENCES = 256  # of one agent
MAX_INTERFACES = 4096  # of one agent
SAMPLES_PER_BATCH = 256  # samples per batch that show addresses behind interfaces: enough over time

_GENERIC = np.dtype(
    [
        *(("index", ">u4"), ("type", ">u4"), ("speed", ">u8"), ("direction", ">u4"), ("status", ">u4")),
        *(("in_octets", ">u8"), ("in_unicast", ">u4"), ("in_multicast", ">u4"), ("in_broadcast", ">u4")),
        *(("in_discards", ">u4"), ("in_errors", ">u4"), ("in_unknown", ">u4")),
        *(("out_octets", ">u8"), ("out_unicast", ">u4"), ("out_multicast", ">u4"), ("out_broadcast", ">u4")),
        *(("out_discards", ">u4"), ("out_errors", ">u4"), ("promiscuous", ">u4")),
    ]
)
_TAIL = (("src_port", ">u4"), ("dst_port", ">u4"), ("tcp_flags", ">u4"), ("tos", ">u4"))
_SAMPLED = {
    4: np.dtype([("octets", ">u4"), ("protocol", ">u4"), ("src_low", ">u4"), ("dst_low", ">u4"), *_TAIL]),
    6: np.dtype(
        [
            *(("octets", ">u4"), ("protocol", ">u4"), ("src_high", ">u8"), ("src_low", ">u8")),
            *(("dst_high", ">u8"), ("dst_low", ">u8"), *_TAIL),
        ]
    ),
}
_UNCOUNTED = {4: 0xFFFFFFFF, 8: (1 << 64) - 1}  # values for "not counted", sflow_version_5.txt


def warm() -> None:
    """Compile all loops of decoding before datagrams arrive, because the first compilation takes seconds."""
    SflowDecoder().decode(Datagrams.of([("::", struct.pack(">IIIIIII", 5, 1, 0, 0, 0, 0, 0), 0)]))


class _Agent:
    """State of an agent: tally, next sequence number by sender and sub-agent, address behind each interface."""

    def __init__(self) -> None:
        self.tally: Counter[str] = Counter()
        self.expected: OrderedDict[tuple[str, int], int] = OrderedDict()
        self.behind: dict[int, str] = {}  # the only source address of incoming packets; empty if there are several

    def set_interface_address(self, interface: int, address: str) -> None:
        """Record that a packet of an address came in by an interface."""
        if len(self.behind) < MAX_INTERFACES and self.behind.setdefault(interface, address) != address:
            self.behind[interface] = ""


class SflowDecoder:
    """Decodes batches of datagrams. `tally`: see `counter_names`; records are samples.

    `most_exporters`: agents known at a time; the one unused for longest is dropped. `most_evidence`: rows of evidence stored
    until they are taken.
    """

    def __init__(self, *, most_exporters: int = 4096, most_evidence: int = 1 << 20) -> None:
        self.tally: Counter[str] = Counter()
        self.most_exporters, self._most_evidence = most_exporters, most_evidence
        self._agents: OrderedDict[str, _Agent] = OrderedDict()
        self._frames, self._evidence = Frames(), Evidence()

    @property
    def exporters(self) -> dict[str, Counter[str]]:
        """Return the tally of each known agent."""
        return {name: agent.tally for name, agent in self._agents.items()}

    def take_evidence(self) -> Evidence:
        """Take the counters, delays and drops since the last call."""
        taken, self._evidence = self._evidence, Evidence()
        return taken

    def decode(self, datagrams: Datagrams) -> Flows:
        """Decode a batch to flow records, in order of arrival. Raises nothing: invalid input is counted.

        The exporter of a record is the agent's address. A packet's time is from the switch if present, else the arrival of the
        datagram.
        """
        self._frames.refresh()
        samples = Samples(datagrams)
        books = self._admitted(samples)
        accounts = Accounts(self.tally, [*(agent.tally if agent else None for agent in books), None])
        columns = self._packets(samples, accounts, books)
        self._counters(samples, accounts, books)
        other = samples.of(walks.OTHER)
        accounts.add_all(counter_names.dropped(OTHER), samples.exporter[other])
        self._follow(samples, books, accounts)
        samples.count(accounts)
        return Flows.build(columns, endpoints=self._frames.endpoints, exporters=samples.agents)

    def _admitted(self, samples: Samples) -> list[_Agent | None]:
        """Return the agents of a batch, known ones first; None if there are too many."""
        names = samples.agents
        wanted = [*(n for n in names if n in self._agents), *(n for n in names if n not in self._agents)]
        for name in wanted[: self.most_exporters]:
            self._agents.setdefault(name, _Agent())
            self._agents.move_to_end(name)
        while len(self._agents) > self.most_exporters:
            self._agents.popitem(last=False)
            self.tally["exporters forgotten"] += 1
        refused = set(wanted[self.most_exporters :])
        samples.refuse(np.array([name in refused for name in names] + [False], np.bool_))
        return [None if name in refused else self._agents[name] for name in names]

    def _packets(self, samples: Samples, accounts: Accounts, books: list[_Agent | None]) -> Columns:
        """Make flow records of sampled packets; their delays and drops become evidence."""
        s = samples.columns
        rows = samples.of(walks.FLOW, walks.EXPANDED_FLOW, walks.DROP)
        framed = rows[s[walks.HEADER_AT, rows] >= 0]
        links = np.full(16, 1 << 14, np.int64)  # unused by captures
        links[list(LINK_TYPES)] = list(LINK_TYPES.values())
        link = links[np.minimum(s[walks.LINK, framed], 15)]
        places = (s[walks.HEADER_AT, framed], s[walks.HEADER, framed], s[walks.FRAME, framed])
        found = self._frames.decode(samples.datagrams.data, *places, link)
        for reason, count in found.reasons.items():
            self.tally[f"frames: {reason}"] += count
        parts = [(framed[found.rows], found.columns)]
        said = np.ones(samples.count_all, np.bool_)
        said[framed[found.rows]] = False
        for version in _SAMPLED:
            plain = rows[(s[walks.IP_VERSION, rows] == version) & said[rows]]
            parts.append((plain, _sampled_ip(samples.datagrams.data, s[walks.IP_AT, plain], version, self._frames.codes)))
        which = np.concatenate([part for part, _ in parts])
        columns = {
            name: np.concatenate([part.get(name, np.zeros(len(at), np.int64)) for at, part in parts]) for name in found.columns
        }
        if (which[1:] < which[:-1]).any():
            order = np.argsort(which, kind="stable")
            which, columns = which[order], {name: column[order] for name, column in columns.items()}
        self._set_interface_addresses(samples, which, columns, books)
        self._keep_delays(samples, which, columns, accounts)
        self._keep_drops(samples, which, columns, accounts)
        told = np.zeros(samples.count_all, np.bool_)
        told[which] = True
        lost = rows[(s[walks.KIND, rows] != walks.DROP) & ~told[rows]]
        bare = (s[walks.HEADER_AT, lost] < 0) & (s[walks.IP_AT, lost] < 0)
        accounts.add_all(counter_names.dropped(NO_PACKET), samples.exporter[lost[bare]])
        accounts.add_all(counter_names.dropped(NO_FLOW), samples.exporter[lost[~bare]])
        flows = s[walks.KIND, which] != walks.DROP
        which, columns = which[flows], {name: column[flows] for name, column in columns.items()}
        accounts.add_all(counter_names.counter(RECORDS, counter_names.EMITTED), samples.exporter[which])
        time = samples.time_ns(which)
        rate = np.maximum(s[walks.RATE, which], 0)  # 0: the agent does not know it
        return {**columns, "start_ns": time, "end_ns": time, "sampling_rate": rate, "exporter": samples.exporter[which]}

    def _set_interface_addresses(self, samples: Samples, which: Ints, columns: Columns, books: list[_Agent | None]) -> None:
        """Learn from samples which source addresses enter by which interface."""
        some = slice(None, None, len(which) // SAMPLES_PER_BATCH + 1)
        rows, protocol = which[some], columns["protocol"][some]
        talk = (samples.columns[walks.IN, rows] >= 0) & ((protocol == TCP) | (protocol == UDP))
        rows = rows[talk]
        met = (samples.exporter[rows], samples.columns[walks.IN, rows], columns["src"][some][talk])
        endpoints = self._frames.endpoints
        for code, interface, src in set(zip(*(column.tolist() for column in met), strict=True)):
            if (agent := books[code]) is not None:
                agent.set_interface_address(interface, endpoints[src])

    def _keep_delays(self, samples: Samples, which: Ints, columns: Columns, accounts: Accounts) -> None:
        s = samples.columns
        rows = samples.of(walks.FLOW, walks.EXPANDED_FLOW)
        rows = rows[(s[walks.DELAY, rows] >= 0) | (s[walks.DEPTH, rows] >= 0)]
        told = samples.seen(rows, which, columns) | {"delay_ns": s[walks.DELAY, rows], "depth": s[walks.DEPTH, rows]}
        self._keep(Delays.build(told, exporters=samples.agents, endpoints=self._frames.endpoints))
        accounts.add_all("delays", samples.exporter[rows])

    def _keep_drops(self, samples: Samples, which: Ints, columns: Columns, accounts: Accounts) -> None:
        s = samples.columns
        rows = samples.of(walks.DROP)
        told = {"reason": s[walks.REASON, rows], "suppressed": s[walks.SUPPRESSED, rows]}
        told["octets"] = np.maximum(s[walks.FRAME, rows], 0)
        drops = samples.seen(rows, which, columns) | told
        self._keep(Drops.build(drops, exporters=samples.agents, endpoints=self._frames.endpoints))
        accounts.add_all(counter_names.counter(RECORDS, counter_names.MERGED), samples.exporter[rows])

    def _counters(self, samples: Samples, accounts: Accounts, books: list[_Agent | None]) -> None:
        rows = samples.of(walks.COUNTER, walks.EXPANDED_COUNTER)
        accounts.add_all(counter_names.counter(RECORDS, counter_names.MERGED), samples.exporter[rows])
        rows = rows[samples.columns[walks.COUNTERS_AT, rows] >= 0]
        g = gather(samples.datagrams.data + PAD if len(rows) else PAD, samples.columns[walks.COUNTERS_AT, rows], _GENERIC)
        columns: Columns = {
            "time_ns": samples.received_ns(rows),
            "exporter": samples.exporter[rows],
            "interface": g["index"],
            "speed": np.minimum(g["speed"], np.uint64(1 << 62)),
            "up": g["status"] & 3 == 3,
        }
        for way in ("in", "out"):
            for name in ("octets", "discards", "errors"):
                columns[f"{way}_{name}"] = _counted(g[f"{way}_{name}"])
            casts = [_counted(g[f"{way}_{cast}cast"]) for cast in ("uni", "multi", "broad")]
            columns[f"{way}_packets"] = np.where(casts[0] < 0, -1, sum(np.maximum(cast, 0) for cast in casts))
        places = zip(samples.exporter[rows].tolist(), g["index"].tolist(), strict=True)
        behind = [agent.behind.get(interface, "") if (agent := books[code]) else "" for code, interface in places]
        names = {name: i for i, name in enumerate(sorted({*behind} - {""}))}
        columns["neighbour"] = np.array([names.get(name, -1) for name in behind], np.int32)
        self._keep(Counters.build(columns, exporters=samples.agents, endpoints=tuple(names)))

    def _keep(self, rows: Rows) -> None:
        self.tally[counter_names.EVIDENCE_DROPPED] += self._evidence.add(rows, self._most_evidence)

    def _follow(self, samples: Samples, books: list[_Agent | None], accounts: Accounts) -> None:
        """Follow the sequence numbers of datagrams, by agent, sender and sub-agent."""
        heads, d = samples.heads, samples.datagrams
        known = np.flatnonzero(samples.agent < len(samples.agents))
        agent, sender, sub = samples.agent[known], d.sender[known], heads[walks.SUB_AGENT, known]
        first, which = numbered_pairs(agent.astype(np.int64) << 32 | sender, sub)
        source: Ints = np.full(len(d), -1, np.int64)
        source[known] = which
        distinct = zip(agent[first].tolist(), sender[first].tolist(), sub[first].tolist(), strict=True)
        owners = [(of, d.senders[who], domain) for of, who, domain in distinct]
        states = [
            known_agent.expected if (known_agent := books[a]) else OrderedDict[tuple[str, int], int]() for a, _, _ in owners
        ]
        expected = np.array([state.get((who, sub), -1) for state, (_, who, sub) in zip(states, owners, strict=True)], np.int64)
        found: Ints = np.zeros((3, len(owners)), np.int64)
        follow(source, heads[walks.SEQUENCE], np.ones(len(d), np.int64), expected, found)
        for i, (of, who, domain) in enumerate(owners):
            states[i][who, domain] = int(expected[i])
            states[i].move_to_end((who, domain))
            if len(states[i]) > MAX_SEQUENCES:
                states[i].popitem(last=False)
            names = (counter_names.counter(DATAGRAMS, counter_names.LOST), counter_names.LATE, counter_names.RESTARTED)
            for name, many in zip(names, found[:, i].tolist(), strict=True):
                accounts.add(name, many, of)


def _counted(numbers: Ints) -> Ints:
    """Convert counters; -1 if the switch does not count."""
    most = np.uint64((1 << 63) - 1)
    counted: Ints = np.minimum(numbers, most).astype(np.int64)
    counted[numbers == _UNCOUNTED[numbers.dtype.itemsize]] = -1
    return counted


def _sampled_ip(data: bytes, at: Ints, version: int, codes: Callable[..., Codes]) -> Columns:
    """Make columns of sampled packets with reported addresses and ports (sampled_ipv4, sampled_ipv6)."""
    said = gather(data + PAD if len(at) else PAD, at, _SAMPLED[version])
    columns: Columns = {name: said[name].astype(np.int64) for name in ("octets", "protocol", "src_port", "dst_port")}
    columns["tcp_flags"] = said["tcp_flags"] & 0xFF
    columns["packets"] = np.ones(len(at), np.int64)
    for name in ("src", "dst"):
        low = said[f"{name}_low"].astype(np.uint64)
        high = np.zeros(len(at), np.uint64) if version == 4 else said[f"{name}_high"].astype(np.uint64)
        columns[name] = codes(high, low | np.uint64(MAPPED) if version == 4 else low)
    return columns
