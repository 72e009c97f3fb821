"""Compose the processes of the service, and check the machine on which it runs.

`serve` combines collectors, store, analysis and outputs in one process. `analysis_thread` and `notifier` are its threads.
`booking_sources` reads schedulers. `recorded_service` serves recordings. `upload_worker` replays one upload in its own process.
"""
