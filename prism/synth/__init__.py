"""Training traffic out of thin air, with its truth: `simulate.simulate(spec, seed)` gives flows, transits, truth, topology.

1. spec       what is asked for: cluster, jobs, faults, nuisances, degradation              `specification`, `presets`,
   `specification_file`
2. place      hosts, leaves, spines, addresses; which rank sits where, who talks to whom    `cluster`, `rank_places`
3. schedule   a step's work in an order that respects who waits for whom                    `pipeline_schedule`,
   `training_step`, `sharded_step`
4. move       transfers with rates, shares of links, readiness, faults                      `fabric`, `collectives`
5. fail       compute, links and ranks that go wrong, when asked to                         `faults`
6. disturb    storage, checkpoints, background, monitoring: what is no training             `other_traffic`
7. record     transfers to flow records: RDMA messages, TCP bursts and control messages     `transfer_records`
8. degrade    sampling, loss, skew, aggregation, truncation                                 `collection_losses`
9. tell       the truth in the format of the captures' truth.json                           `truth`

`simulation` does it all at once, `endless_simulation` in order of time and in bounded memory. Instead of 7 and 8, transfers
may become trains of packets (`packet_trains`), numbered packets in order of time (`packet_streams`), what each switch's mirror
port sees of them (`mirror_captures`), and frames (`packet_frames`).

A step is simulated operation by operation, each for all ranks that do it at once: begin = the latest of what it depends on, end
= begin + how long it takes. So a slow rank delays those who wait for it, and nobody else.
"""
