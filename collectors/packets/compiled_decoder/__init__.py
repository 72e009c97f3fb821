"""The decoder of frames, compiled: one file per layer."""
