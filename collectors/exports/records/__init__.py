"""Exported NetFlow and IPFIX records: information elements, templates, and their values as columns of flow records.

`elements.csv` has the meaning of each element. `time_formats` corrects times in another format than announced; `running_totals`
converts repeatedly exported totals to increases.
"""
