"""Exports in files: captures of datagrams, IPFIX files."""
