"""Check requests and form answers: access, parameters, times, errors (RFC 9457), JSON, CSV and Parquet."""
