"""The event graph of a job: its transfers, what each follows, and which of its delays are new."""
