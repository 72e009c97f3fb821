"""A diagnosis for other programs and for people: JSON (`prism-report/1`), Chrome trace, Kineto traces, tables."""
