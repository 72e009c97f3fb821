"""Constants of this folder: unit, meaning and source of each number."""

LEAST_PART_NS = 500_000_000  # ns: least duration of a part of a step
MOST_PARTS = 8  # largest number of parts of a step
