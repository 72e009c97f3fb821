"""The message of each receiver, and what its answer means for further attempts."""
