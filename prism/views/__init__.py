"""Convert boards to plain values for REST and for the HTML report (`html_report`).

`board_views` is the entry; one file each for findings, traffic, time, phases, ranks in order of deviation, and search.
"""
