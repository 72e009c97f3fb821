"""Follow packets into flows, compiled: where a message or a burst begins and ends, what was retransmitted or reordered.

`flow_state` declares what is remembered of each flow. `flow_tracking` drives the loops: `rdma_messages` and
`ultra_ethernet_messages` for RDMA, `segments` and `bursts` for TCP, UDP and the rest.
"""
