"""Forms: how the numbers of a rule are plugged into its ports (`sweep.register`)."""
