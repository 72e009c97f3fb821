"""Capture, decode and store flow records: from the wire to rows. Nothing here imports `prism`.

The life of a packet, one folder per step. Imports go down this list only (import contracts in pyproject.toml).

* `cli`: the command line `prism-collect`.
* `live`: commands that run until they are stopped: capture an interface, listen for exports.
* `listening`: receive export datagrams from UDP sockets, fairly and in bounded memory.
* `store`: write flow records to ClickHouse exactly once, through a spool on disk.
* `writers`: write flow records to files: CSV, JSON Lines, Parquet, Arrow, nfdump.
* `formats`: read flow records from files: Parquet, CSV, JSON Lines, nfdump, Zeek, any table with a column mapping.
* `recorded_exports`: read exports from captures of UDP datagrams and from IPFIX files.
* `exports`: decode NetFlow, IPFIX and sFlow datagrams to flow records and to evidence.
* `aggregation`: turn decoded packets into flow records; match packets that several switches captured.
* `flows`: follow each packet's flow, compiled: messages of RDMA, bursts of TCP and UDP, reordering, retransmission.
* `captures`: read and write pcap and pcapng; read frames from an interface.
* `packets`: decode headers from Ethernet to the RoCEv2 BTH and to Ultra Ethernet, plain and compiled.
* `columns`: the flow record and its tables; each column is declared once.
* `addresses`: IP addresses as codes, numbers and texts.
* `files`, `clickhouse`, `memory`, `operations`, `compilation`: shared foundations.
"""
