"""The hidden Markov tagger: tag bigrams, and words given tags."""

from __future__ import annotations

from latree.kinds.options import TagOptions
from latree.kinds.registry import Kind

KIND = Kind(
    "hmm",
    "The bigram tagger: tags given the tag before, words given tags.",
    options=TagOptions,
    tagger="latree.kinds.hmm.model:Hmm",
)
