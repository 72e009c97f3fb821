"""Constants of this folder: unit, meaning and source of each number."""

CLEARLY_SLOWER = 1.5  # ratio of logarithms of slowdowns: a rank this much slower than another is reported alone
