"""NetFlow v5, v9 and IPFIX."""
