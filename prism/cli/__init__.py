"""The command line `prism`: one file per group of commands. `main` is the program.

Commands import their modules when they run, so that help and errors are quick. `offline` has the commands that read files
and need no service.
"""
