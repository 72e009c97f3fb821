"""Exported NetFlow and IPFIX records: information elements, templates, and their values as columns of flow records.

`elements.csv` says what each element means. `time_formats` corrects times that a maker writes in another format than it
announces; `running_totals` turns totals that are exported again and again into increases.
"""
