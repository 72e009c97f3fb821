"""Flow records in the store: spool, inserts, retention."""
