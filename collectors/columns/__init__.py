"""Tables of many values: the flow record, packets, hop delays and losses as arrays, each column declared once in `record`.

`grouping` and `partial_records` group rows and join partial records.
"""
