"""ClickHouse, embedded in this process (chdb) or on a server, behind one protocol; the only users of the two drivers.

`drivers` opens a database, `tables` declares tables, `schema` creates, migrates and checks them.
"""
