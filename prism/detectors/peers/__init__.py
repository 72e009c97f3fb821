"""Compare a rank with its peers: of the same host, context, ring, tree or position."""
