"""The command line `prism`: one file per group of commands."""
