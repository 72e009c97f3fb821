"""Compile loops with numba, store the compiled code on disk, and run loops as plain Python until it exists.

`compiled` is the decorator of loops; `primitives` has functions shared by loops. `warming` compiles the loops listed in
`loops.json` ahead of use, in other processes.
"""
