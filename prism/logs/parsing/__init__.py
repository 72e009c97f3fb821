"""Parse log text: who wrote a line and when, templates, signatures, iterations, tracebacks."""
