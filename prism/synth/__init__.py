"""Simulate training traffic with its truth: `simulation.simulate(spec, seed)` returns flows, transits, truth, topology.

1. specify     cluster, jobs, faults, other traffic, losses of collection             `scenario`
2. place       hosts, leaves, spines, addresses; the place of each rank               `scenario`
3. schedule    the operations of a step in an order that respects dependencies        `scenario`, `training`
4. transfer    rates, shares of links, readiness, faults                              `training`
5. add         storage, checkpoints, background, monitoring                           `capture.other_traffic`
6. record      RDMA messages, TCP bursts and control messages as flow records         `capture.transfer_records`
7. degrade     sampling, loss, clock offsets, aggregation, truncation                 `capture.collection_losses`
8. state       the truth in the format of the captures' truth.json                    `truth`

`simulation` does this at once, `endless_simulation` in order of time and in bounded memory. Instead of 6 and 7, transfers may
become trains of packets, packets, mirror-port captures of each switch, and frames (`capture`).

A step is simulated operation by operation, each for all its ranks at once. An operation starts when its last dependency ends,
and ends after its duration. So a slow rank delays the ranks that wait for it, and no others.
"""
