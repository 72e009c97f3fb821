"""Write flow records to files, whole or in parts; the name of the file decides the format.

`sinks` declares what every live target of records does; `rotating_files` is one that starts a new file at intervals.
"""
