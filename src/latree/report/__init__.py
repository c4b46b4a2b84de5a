"""A report as a value, and how it becomes text or a page."""
