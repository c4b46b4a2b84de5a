"""Many trainings on parts of one treebank: to learn about the treebank, a kind of model, or what to annotate."""
