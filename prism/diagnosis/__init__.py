"""Find the cause of lost time: list candidates, compute how much of the new delays each explains, and report the best one.

`stops` finds hangs and crashes. `attribution` finds slow steps, compares their candidates, and writes findings. `uneven_work`
finds causes without a broken part. `assessment` computes the confidence of a finding and the hosts to isolate.
"""
