"""Decode frames header by header: Ethernet, tags, tunnels, IP, TCP, UDP, RoCEv2, InfiniBand, Ultra Ethernet.

`plain_decoder` is the readable decoder of one frame. `compiled_decoder` gives the same results for many frames; tests hold
the two against each other.
"""
