"""The command line `prism-collect`: options, checks of arguments, errors of one line.

`commands` is the program. `file_commands`, `live_commands` and `warm_command` add its commands; each imports its modules when
it runs, so that help is quick.
"""
