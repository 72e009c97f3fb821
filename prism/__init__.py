"""The life of a flow.

1. capture      a mirror port or a file yields frames with their time                     `collectors.captures.pcap`
2. decode       headers are peeled off, down to TCP, UDP and RoCEv2                       `collectors.aggregation.batch_decoder`
3. aggregate    packets of several switches become flow records, each seen once           `collectors.aggregation.flow_table`
4. keep         records go to a dump and come back from one                               `collectors.formats.text_files`
5. recognise    a window of flows becomes jobs, each job its groups                       `jobs`, `parallelism`
6. reconstruct  one timeline per job: steps and phases, per rank                          `timeline`
7. diagnose     new delays in the event graph, and who explains them best                 `graph`, `diagnosis`
                detectors: hangs, crashes, and what the graph is asked to bear out        `detectors`
8. tell         report, tables, trace                                                     `report`, `terminal`, `trace`

Read on in `model` (the words), `diagnose` (the order of the stages), the stages, one detector. `replay` does 1–3 and 5–7 for
files; `cli` is the command line.
"""
