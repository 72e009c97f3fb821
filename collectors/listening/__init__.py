"""Receive export datagrams from UDP sockets and pass them to the decoders.

`receiver_threads` read the sockets into a bounded `datagram_queue`. `listener` decodes the queue and counts every datagram.
Exporters share the queue fairly, and the kernel drops part of a flood before it fills the sockets.
"""
