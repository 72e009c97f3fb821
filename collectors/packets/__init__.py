"""Headers of frames, and the plain decoder."""
