"""What is wrong with parses, and how far the probabilities of a model can be trusted."""
