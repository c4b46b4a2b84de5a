"""Likely errors of a treebank: nodes that a model doubts, rules that are known nowhere else, words annotated unlike."""
