"""Read what operators, schedulers and neighbours provide: hints, jobs with their hosts (bookings), neighbours by LLDP.

1. **read** (`slurm`, `kubernetes`, `bookings`, `host_lists`): bookings list the hosts of each job, and its begin;
2. **join** (`job_matching`): a job in the traffic is the booking of its hosts at its time;
3. **place** (`lldp`): neighbours that switches and hosts report complete the topology;
4. **hint** (`operator_hints`): facts about the site and its jobs are priors of the analysis, never certain.

`prism.app.booking_sources` reads them periodically.
"""
