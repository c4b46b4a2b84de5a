"""A report as a value, and what renders it: `text` for a terminal, `html` as one page, `to_json` as data."""
