"""The decoder of frames, compiled, one file per layer; the same results as `plain_decoder` gives for one frame.

`frame_decoder` drives `link_layer`, `network_layer`, `transport_layer` and `ultra_ethernet_layer`.
"""
