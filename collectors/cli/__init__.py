"""The command line `prism-collect`: options, checks of arguments, one line for an error.

`commands` is the program. `file_commands`, `live_commands` and `warm_command` add its commands; each imports what it needs
when it runs, so that help is quick.
"""
