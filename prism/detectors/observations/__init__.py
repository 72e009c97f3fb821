"""What detectors observe of edges, parts of long steps, switches and NICs. Nothing here blames anybody."""
