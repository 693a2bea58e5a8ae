"""Does a probe detect a bias that is there? A known association is planted, and probes are run at every dose of it."""
