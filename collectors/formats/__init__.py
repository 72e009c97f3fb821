"""Read flow records from files: Parquet, CSV, JSON Lines, nfdump, Zeek."""
