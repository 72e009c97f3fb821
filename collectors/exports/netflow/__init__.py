"""Decode NetFlow v5, v9 (RFC 3954) and IPFIX (RFC 7011): which template a set has, options, sampling rates, data sets.

`netflow` is the decoder and says in which order the others are used.
"""
