"""From the vectors of words in context to what a grammar takes: Gaussians of words, and weights of spans.

A word has for every tag a weight, a mean and a deviation in the tag's latent space.  A span has a weight for every
symbol, made of the differences between what stands at its two ends, read forwards and backwards.
The weights of the rules, which inference gives the gradient of, are parameters like the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from latree.arrays import Floats, Longs, ranges, starts
from latree.inference.gaussian.mixtures import Mixtures
from latree.kinds.neural import NeuralOptions
from latree.kinds.neural.anchored import SpanPlaces
from latree.kinds.neural.devices import has_half
from latree.kinds.neural.encoders import Encoder, Sentences

WIDEST = 2.0  # log standard deviations of words lie between -2 and 2
_AT_ONCE = 40_000  # spans that are weighed together: bounds memory


class Context(NamedTuple):
    """What a network makes of the words of some sentences, laid end to end."""

    words: Tensor  # [words, tags, 1 + dim + 1] log weight, mean and log deviation under each tag
    after: Tensor  # [words, hidden] what stands after each word, read forwards
    before: Tensor  # [words, hidden] what stands before each word, read backwards


class Network(nn.Module):
    """An encoder, what turns its vectors into weights, and the weights of a grammar's rules."""

    def __init__(self, options: NeuralOptions, encoder: Encoder, tags: int, symbols: int, rules: Mixtures) -> None:
        super().__init__()
        self.encoder, self.tags = encoder, tags
        self.word = nn.Linear(encoder.width, tags * (2 + options.dim))
        self.fence = nn.Linear(encoder.width, 2 * options.hidden)
        self.edge = nn.Parameter(torch.zeros(2, options.hidden))  # the two ends of a sentence
        self.label = nn.Sequential(
            nn.LayerNorm(options.hidden),
            nn.ReLU(),
            nn.Dropout(options.dropout),
            nn.Linear(options.hidden, symbols),
        )
        self.rules = nn.ParameterList(torch.tensor(part) for part in rules)

    def mixtures(self) -> Mixtures:
        """The rules' weights as inference takes them."""
        return Mixtures(*(part.detach().cpu().numpy() for part in self.rules))

    def read(self, sentences: Sentences) -> Context:
        """Read sentences of like length together."""
        device = self.word.weight.device
        with torch.autocast(device.type, torch.bfloat16, enabled=self._takes_half(device)):
            vectors = self.encoder(sentences)
        vectors = vectors.to(self.word.weight.dtype)
        words = self.word(vectors).unflatten(1, (self.tags, -1))
        deviation = WIDEST * torch.tanh(words[..., -1:])
        after, before = self.fence(vectors).chunk(2, 1)
        return Context(torch.cat([words[..., :-1], deviation], 2), after, before)

    def _takes_half(self, device: torch.device) -> bool:
        """Whether to read with half the digits: not in parsing, where a sentence is to have the same probabilities
        whatever others it is read with."""
        return self.training and self.word.weight.dtype == torch.float32 and has_half(device)

    def weigh(self, context: Context, spans: SpanPlaces) -> Tensor:
        """[spans, symbols] logs of what spans weigh."""
        after = torch.cat([context.after, self.edge[:1]])  # -1 is the end of a sentence
        before = torch.cat([context.before, self.edge[1:]])
        left, first, last, right = (torch.as_tensor(place, device=after.device) for place in spans)
        return self.label(after[last] - after[left] + before[first] - before[right])

    # -- without a gradient

    @torch.inference_mode()
    def context(self, sentences: Sentences) -> Context:
        """Read sentences of any lengths."""
        lengths = np.array([len(words) for words in sentences])
        groups = _alike(lengths, np.argsort(lengths, kind="stable").tolist())
        parts = [self.read([sentences[k] for k in group]) for group in groups]
        # Where each word stands among those that were read.
        place = np.argsort(ranges(starts(lengths)[np.concatenate(groups)], lengths[np.concatenate(groups)]))
        there = torch.from_numpy(place).to(self.word.weight.device)
        return Context(*(torch.cat(part)[there] for part in zip(*parts, strict=True)))

    @torch.inference_mode()
    def weights(self, context: Context, spans: SpanPlaces) -> Floats:
        """[spans, symbols] logs of what spans weigh, as an array."""
        cuts = range(0, max(len(spans.first), 1), _AT_ONCE)
        parts = [self.weigh(context, SpanPlaces(*(x[k : k + _AT_ONCE] for x in spans))) for k in cuts]
        return as_array(torch.cat(parts))


def as_array(tensor: Tensor) -> Floats:
    """Numbers as inference takes them."""
    return np.asarray(tensor.detach().cpu().double().numpy())


def _alike(lengths: Longs, order: Sequence[int], most: int = 1200) -> list[list[int]]:
    """Groups of sentences, of at most so many words with what fills them up."""
    groups: list[list[int]] = [[]]
    for k in order:
        if groups[-1] and (len(groups[-1]) + 1) * lengths[k] > most:
            groups.append([])
        groups[-1].append(k)
    return groups
