"""What operators, schedulers and neighbours say: hints, jobs with their hosts (bookings), neighbours by LLDP.

1. **read** (`slurm`, `kubernetes`, `bookings`, `host_lists`): bookings say who has which hosts, since when;
2. **join** (`job_matching`): a job that the traffic shows is the booking of its hosts at its time;
3. **place** (`lldp`): neighbours that switches and hosts report complete the topology;
4. **hint** (`operator_hints`): facts about the site and its jobs are priors of the analysis, never facts.

`prism.app.booking_sources` reads them again and again.
"""
