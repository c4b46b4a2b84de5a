"""The hidden Markov tagger: tag bigrams, and words given tags."""

from __future__ import annotations

from latree.kinds.registry import Kind

KIND = Kind(
    "hmm",
    "the bigram tagger: tags given the tag before, words given tags",
    tagger="latree.kinds.hmm.model:Hmm",
)
