"""From simulated transfers to flow records, or to packets as each mirror port captures them, less what collection loses."""
