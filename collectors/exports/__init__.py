"""Decode batches of export datagrams from switches to flow records and to evidence.

`netflow` and `sflow` are the decoders; `records` has the parts of NetFlow records. `tallies` count every datagram and record by
the names in `counter_names`. `admission` limits exporters and their rates.
"""
