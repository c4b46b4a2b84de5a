"""The best model that a treebank gives in a given time: several are trained, and those that help on dev multiplied."""
