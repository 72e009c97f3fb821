"""Write a diagnosis as JSON (`prism-report/1`), Chrome trace, Kineto traces, and tables for a terminal."""
