"""Every compiled function of the analysis (numba): arrays in, arrays out; each has a plain twin in its test.

Folders are named after their users; `arrays` serves all. `loops.json` beside this package lists what is compiled ahead.
"""
