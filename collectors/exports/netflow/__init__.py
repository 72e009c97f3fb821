"""Decode NetFlow v5, v9 (RFC 3954) and IPFIX (RFC 7011): templates of sets, options, sampling rates, data sets.

`netflow` is the decoder and calls the others in order.
"""
