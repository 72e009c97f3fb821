"""Build flow records from captures: decode batches of frames, match packets that several switches captured, follow flows.

`flow_table` is the entry: packets in, flow records and hop delays out. `capture_reader` reads a capture on disk without making
batches.
"""
