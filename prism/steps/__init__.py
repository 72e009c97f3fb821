"""Find the steps of a job: the shortest repeating sequence of operations, and when each rank ended it.

The sequence holds the communicator, volume and direction of each operation of one step. It is searched on a clock that counts
traffic instead of time (`traffic_clock`), so that pauses, slow steps and hangs do not disturb it (`step_program`).
"""
