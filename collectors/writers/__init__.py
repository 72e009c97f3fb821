"""Write flow records to files, at once or in parts; the name of the file decides the format.

`sinks` defines the protocol of live targets; `rotating_files` is one that starts a new file at intervals.
"""
