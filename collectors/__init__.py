"""The life of a packet: the light half, from the wire to rows. It imports nothing of `prism`.

1. `pcap` (with `pcapng`, `compression`, `record_framing`) yields frames, a `frame_batch` at a time: when, octets as captured,
   length on the wire;
2. `batch_decoder` decodes a batch (`frame_decoder`, compiled; `common_frames` what most are) into rows; `plain_decoder` says
   the same for one frame, header by header;
3. `path_matching` matches what several switches saw of one packet, so that it counts once and keeps its path;
4. `flow_tracking` finds each packet's flow; `rdma_messages` (RDMA) and `segments` with `bursts` (the rest) follow it: what is
   payload, what control, what was sent before, where a message or burst ends. `flow_state` is what they remember. All compiled
   (`primitives`);
5. `flow_table` drives 3 and 4 (of one switch alone, 2 and 4 at once: `single_switch`) and hands out flow records
   (`record.Flows`, put together in `_record_columns`) and hop delays (`record.Transits`);
6. `netflow` (with `message_loops`, `template_assignment`, `data_sets`, `options`, `flow_columns`) and `sflow` decode what
   switches export themselves, a batch of `datagrams` at a time, into records and `evidence`; `counter_names` names what became
   of every datagram; `export_files` (with `ipfix_files` and `captured_exports`) takes them from files and captures;
7. `text_files` and `parquet` read records from files, ours and other tools' (`nfdump`, `zeek`, a user's `column_mapping`);
   what they find, `foreign_records` checks and turns into records. `file_types` tells which file is which;
8. `record_files` (with `_text_lines`), `parquet`, `arrow` and `nfcapd` write records;
9. `listener` (with `udp_sockets`, `receiver_threads`, `admission`, `datagram_queue`) takes datagrams from sockets,
   `live_capture` (with `packet_ring`) frames from an interface; both hand records to one of the `sinks` (`rotating_files`)
   until they are told to stop (`session`). Evidence waits in `evidence_store` until it is asked for.
"""
