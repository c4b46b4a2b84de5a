"""Words: P(word | tag), classes of unknown words, lexical rules for training by gradient."""
