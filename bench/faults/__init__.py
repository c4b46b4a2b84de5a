"""Campaigns of faults: inputs made wrong in ways that are counted and can be repeated."""
