"""Compile loops with numba, keep the compiled code on disk, and run loops as plain Python until it is there.

`compiled` is the decorator of loops, `primitives` what loops share. `warming` compiles the loops listed in `loops.json` ahead
of use, in other processes.
"""
