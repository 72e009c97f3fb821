"""One incident from two witnesses: what the logs of a run say, and what its flows show.

Reading order: `silence` (who fell silent first, and whether the network was at fault) and `places` (which node is which
endpoint) → `checks` (what logs and flows disagree about) → `incident` (the joint verdict) → `sheet` (one page). `loghints`
writes what logs say as hints for the layout.
"""
