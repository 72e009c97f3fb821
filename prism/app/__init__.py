"""Composition: what runs when a command of the service runs, and checks of the machine that it runs on.

`serve` puts collectors, store, analysis and outputs together in one process. `analysis_thread` and `notifier` are its threads,
`booking_sources` reads schedulers. `recorded_service` serves recordings; `upload_worker` replays one upload in its own process.
"""
