"""Jobs, cases and gaps followed from window to window; the board that results."""
