"""The life of a packet: the light half, from the wire to rows. It imports nothing of `prism`.

1. `pcap` (with `pcapng`, `compression`, `framing`) yields frames, a `batch` at a time: when, octets as captured, length on
   the wire;
2. `fastpath` decodes a batch (`unpacking`, compiled) into rows; `packet` says the same for one frame, header by header;
3. `sightings` matches what several switches saw of one packet, so that it counts once and keeps its path;
4. `following` finds each packet's flow; `messages` (RDMA) and `lanes` with `bursts` (the rest) follow it: what is payload, what
   control, what was sent before, where a message or burst ends. `state` is what they remember. All compiled (`wire`);
5. `flowtable` drives 3 and 4 and hands out flow records (`record.Flows`) and hop delays (`record.Transits`);
6. `dump` reads records from files, ours and other tools', `writing` (with `lines`) writes them.
"""
