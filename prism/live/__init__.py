"""Live analysis: records come in, windows slide, boards come out. `live_analysis` is the entry.

`board_changes` lists the differences between boards, `live_bookings` joins jobs with schedulers, `stalled_process` detects
times in which this process was suspended.
"""
