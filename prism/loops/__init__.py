"""All compiled functions of the analysis (numba): arrays in, arrays out. Each has a plain twin in its test.

Folders are named after their users; `arrays` serves all. `loops.json` lists the functions that are compiled ahead.
`constants` has the numbers of files without compiled functions; compiled ones have theirs beside them.
"""
