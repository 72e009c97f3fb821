"""Read flow records from files. `file_types` recognises a file by its first octets, not by its name.

One file per format: `parquet`, `text_files` (CSV and JSON Lines), `nfdump`, `zeek`. `column_mapping` names the columns of other
tables; `foreign_records` checks rows and counts bad ones by reason.
"""
