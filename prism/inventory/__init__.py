"""The names that people use: jobs of schedulers, hosts, racks and ports; and one search for all of them.

1. **read** (`slurm`, `kubernetes`, `bookings`): what a scheduler says becomes bookings: who has which hosts, since when;
2. **collect** (`booking_sources`): files and interfaces of schedulers are read again and again, bookings that vanish have
   ended;
3. **join** (`job_matching`): a job that the traffic shows is the booking of its hosts at its time;
4. **place** (`lldp`): neighbours that switches and hosts report complete the topology;
5. **search** (`search`): jobs, users, hosts, racks, addresses, switches and findings by one text.
"""
