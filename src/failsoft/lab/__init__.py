"""lab owns the experiments: what policies do to a service in trouble, in simulated time."""
