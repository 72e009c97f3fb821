"""Receive export datagrams from UDP sockets and pass them to the decoders.

`receiver_threads` empty the sockets into a `datagram_queue` of bounded size. `listener` decodes what waits there and counts
every datagram. Exporters share the queue fairly, and the kernel drops part of a flood before it fills the sockets.
"""
