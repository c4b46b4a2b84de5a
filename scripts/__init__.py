"""Scripts that make what ships and what is shown."""
