"""Follow packets into flows, compiled: begin and end of messages and bursts, retransmission, reordering.

`flow_state` declares the state of each flow. `flow_tracking` drives the loops: `rdma_messages` and `ultra_ethernet_messages`
for RDMA, `segments` and `bursts` for TCP, UDP and others.
"""
