"""The command line `prism-collect`."""
