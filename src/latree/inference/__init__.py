"""Inside, outside and expectations over packed forests, and what is asked of them.  Nothing here knows a model."""
