"""Decode sFlow version 5: samples of packets to flow records, counters and queue depths to evidence."""
