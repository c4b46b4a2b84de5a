"""Kinds of models: what they share, and a folder for each."""
