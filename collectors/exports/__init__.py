"""Decode the datagrams that switches export, a batch at a time, to flow records and to evidence beside them.

`netflow` and `sflow` are the decoders; `records` has what NetFlow records are made of. `tallies` count every datagram and
record by the names in `counter_names`. `admission` decides which exporters are heard, and how much of each.
"""
