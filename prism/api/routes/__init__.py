"""Routes of the REST interface that read from a board."""
