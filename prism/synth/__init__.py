"""Simulate training traffic, with its truth: `simulation.simulate(spec, seed)` gives flows, transits, truth, topology.

1. specify     cluster, jobs, faults, other traffic, losses of collection             `scenario`
2. place       hosts, leaves, spines, addresses; where each rank runs                 `scenario`
3. schedule    the operations of a step in an order that respects dependencies        `scenario`, `training`
4. transfer    rates, shares of links, readiness, faults                              `training`
5. add         storage, checkpoints, background, monitoring                           `capture.other_traffic`
6. record      RDMA messages, TCP bursts and control messages as flow records         `capture.transfer_records`
7. degrade     sampling, loss, clock offsets, aggregation, truncation                 `capture.collection_losses`
8. state       the truth in the format of the captures' truth.json                    `truth`

`simulation` does it all at once, `endless_simulation` in order of time and in bounded memory. Instead of 6 and 7, transfers
may become trains of packets, packets, what each switch's mirror port captures, and frames (`capture`).

A step is simulated operation by operation, each for all ranks that do it at once: it begins with the latest of what it depends
on, and ends when its duration is over. So a slow rank delays those who wait for it, and nobody else.
"""
