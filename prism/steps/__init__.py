"""Steps of a job: the shortest repeating word of operations, and when each rank ended it.

A word is the sequence of operations of one step: communicator, volume and direction. It is found on a clock that counts traffic
instead of time (`traffic_clock`), so that pauses, slow steps and hangs do not disturb it (`step_program`).
"""
