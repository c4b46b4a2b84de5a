"""The hidden Markov tagger whose tags have learned subtypes (LVG-G of Zhao, Zhang & Tu 2018)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latree.arrays import NONE, Floats
from latree.kinds.lvg.split_merge import Refined
from latree.kinds.lvg.subtyped import Subtyped
from latree.kinds.lvg.training import Rounds
from latree.kinds.tagger import Tagger
from latree.learning.latent_treebank import LatentTreebank
from latree.learning.loop import Training, train
from latree.learning.tag_bigrams import bigram_grammar, code_tags, count_bigrams
from latree.lexicon.words import Lexicon


class LvgTagger(Subtyped, Tagger):
    """`LvgTagger(subtypes=8).fit(sentences).tag(tokens)`, with sentences as (words, tags)."""

    kind = "lvg-tagger"

    def learn(self, data: list[tuple[Sequence[str], Sequence[str]]], training: Training) -> None:
        names, coded = code_tags(data)
        bigrams = count_bigrams(coded, len(names))
        self.grammar, _ = bigram_grammar(names, bigrams.copy())
        unsplit = Lexicon.count(coded, len(names), self.options.unknown, self.options.lexicon)
        counts = np.concatenate([bigrams[-1, :-1], bigrams[:-1, :-1].ravel(), bigrams[:-1, -1]])
        self.kinds = np.append((bigrams[-1] > 0).sum(), (bigrams[:-1] > 0).sum(1)).astype(np.float64)
        treebank = LatentTreebank.of_tags(self.grammar, coded, unsplit)
        train(Rounds(self, treebank, counts, unsplit), training, self.options.seed)

    def smoothed_rules(self, state: Refined, counts: Floats) -> Floats:
        """Witten-Bell as in the plain tagger: a tag's subtypes all back off to how often each subtype occurs at all."""
        layout, rules = state.layout, self.grammar.rules
        after = np.zeros(int(layout.offset[-1]) + 1)  # each subtype, and the end of the sentence
        targets = [slice(layout.offset[b], layout.offset[b + 1]) if b != NONE else slice(-1, None) for b in rules[:, 1]]
        for rule, target in enumerate(targets):
            after[target] += layout.tensor(counts, rule).sum(0).ravel()
        after /= after.sum()
        share = layout.parent_counts(counts)
        theta = np.empty_like(counts)
        for rule, (parent, target) in enumerate(zip(rules[:, 0], targets, strict=True)):
            mine = share[layout.offset[parent] : layout.offset[parent + 1]][:, None]
            new = self.kinds[parent] * mine / mine.sum()  # how much the back-off weighs, in counts
            table = layout.tensor(counts, rule)[:, :, 0]
            backed = np.where(parent == 0 and target == slice(-1, None), 0.0, after[target])
            theta[layout.start[rule] : layout.start[rule + 1]] = ((table + new * backed) / (mine + new)).ravel()
        layout.normalise(theta)
        return theta
