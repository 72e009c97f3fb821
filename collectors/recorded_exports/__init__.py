"""Read exports from files: captures of NetFlow, IPFIX and sFlow datagrams, and IPFIX files (RFC 5655).

Datagrams in captures are found by port and by content; IP fragments are reassembled in bounded memory.
"""
