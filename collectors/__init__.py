"""The life of a packet: the light half, from the wire to rows. It imports nothing of `prism`.

1. `pcap` (with `pcapng`, `compression`, `framing`) yields frames, a `batch` at a time: when, octets as captured, length on
   the wire;
2. `fastpath` decodes a batch (`unpacking`, compiled; `commonframes` what most are) into rows; `packet` says the same for one
   frame, header by header;
3. `sightings` matches what several switches saw of one packet, so that it counts once and keeps its path;
4. `following` finds each packet's flow; `messages` (RDMA) and `lanes` with `bursts` (the rest) follow it: what is payload, what
   control, what was sent before, where a message or burst ends. `state` is what they remember. All compiled (`wire`);
5. `flowtable` drives 3 and 4 (of one switch alone, 2 and 4 at once: `straight`) and hands out flow records (`record.Flows`,
   put together in `finished`) and hop delays (`record.Transits`);
6. `netflow` (with `walks`, `exportsets`, `recordsets`, `options`, `exportrows`) and `sflow` decode what switches export
   themselves, a batch of `datagrams` at a time, into records and `evidence`; `ledger` names what became of every datagram;
   `exportfile` (with `ipfixfile` and `exported`) takes them from files and captures;
7. `dump` and `parquet` read records from files, ours and other tools' (`nfdump`, `zeek`, a user's `mapping`); what they find,
   `gather` checks and turns into records. `inputs` tells which file is which;
8. `writing` (with `lines`), `parquet`, `arrowfile` and `nfcapdfile` write records;
9. `listen` (with `receiving`, `intake`, `admission`, `inbox`) takes datagrams from sockets, `capture` (with `ring`) frames
   from an interface; both hand records to one of the `sinks` (`rotation`) until they are told to stop (`live`). Evidence
   waits in `testimony` until it is asked for.
"""
