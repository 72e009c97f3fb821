"""Write flow records to the store exactly once.

`store_sink` collects records in batches, `spool` keeps each batch on disk until `inserter` has written it to ClickHouse.
`flow_rows` declares the tables, `retention` removes old rows.
"""
