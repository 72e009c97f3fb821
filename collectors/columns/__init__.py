"""Tables of many values as arrays: the flow record, packets, hop delays and losses; `record` declares each column once.

`grouping` and `partial_records` group rows and join partial records.
"""
