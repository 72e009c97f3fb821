"""ClickHouse inside this process or on a server."""
