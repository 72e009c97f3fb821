"""Loops that find the period of a stream: the gaps between its steps, and the volume of each."""
