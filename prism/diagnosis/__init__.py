"""Who or what costs a job time: candidates, each with what it explains of the lost time, and the one that explains most."""
