"""Find what stopped a job: the operation that is due and missing (`hang`), or a rank that left (`crash`)."""
