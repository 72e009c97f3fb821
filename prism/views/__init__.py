"""Boards as plain values: REST answers them, and the HTML report (`html_report`) embeds them.

`board_views` is the entry; one file each for findings, traffic, time, phases, ranks in order of deviation, and search.
"""
