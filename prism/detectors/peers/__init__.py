"""Compare a rank with its peers: of the same position, host, context, ring or tree."""
