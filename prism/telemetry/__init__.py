"""Export metrics of jobs and exporters to monitoring systems: `/metrics` with a limited number of series."""
