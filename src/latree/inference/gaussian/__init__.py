"""Inference with Gaussian mixtures, whose messages are as long as an item has makers."""
