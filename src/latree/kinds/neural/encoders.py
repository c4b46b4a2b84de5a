"""What reads the words of a sentence in context: a vector for every word, in which its neighbours have a say.

`Scratch` learns all it knows from the treebank, from words and their letters; `Pretrained` is a transformer that has
learned from much text (`pretrained`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from latree.errors import LatreeError
from latree.files import Arrays, Header, pack_strings, unpack_strings
from latree.kinds.neural import NeuralOptions

try:
    import torch
    from torch import Tensor, nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
except ImportError:
    raise LatreeError("this needs torch; install it with: pip install 'latree[neural]'") from None

from latree.kinds.neural.spelling import PAD, UNKNOWN, Spelling, Vocabulary  # once torch is known to be there

Sentences = Sequence[Sequence[str]]


class Encoder(nn.Module, ABC):
    """Reads sentences."""

    width: int  # numbers of a word's vector

    @abstractmethod
    def forward(self, sentences: Sentences) -> Tensor:
        """Read sentences: [all words, width]."""

    @abstractmethod
    def parts(self) -> tuple[Header, Arrays]:
        """Tell what, beside its weights, makes it what it is."""


class Scratch(Encoder):
    """Words and their letters, through LSTMs in both directions."""

    def __init__(self, options: NeuralOptions, words: Vocabulary, letters: Vocabulary) -> None:
        super().__init__()
        self.words, self.hidden_words = words, options.word_dropout
        self.word = nn.Embedding(len(words), options.word_vector, PAD)
        self.spelling = Spelling(letters, options.characters)
        self.dropout = nn.Dropout(options.dropout)
        self.context = nn.LSTM(
            options.word_vector + options.characters,
            options.width,
            options.layers,
            batch_first=True,
            bidirectional=True,
            dropout=options.dropout if options.layers > 1 else 0.0,
        )
        self.width = 2 * options.width

    @classmethod
    def of(cls, options: NeuralOptions, sentences: Sentences) -> Scratch:
        """An encoder that knows the words that occur twice or more, and all letters."""
        words = [word for sentence in sentences for word in sentence]
        return cls(options, Vocabulary.of(words, 2), letters_of(sentences))

    @classmethod
    def from_parts(cls, options: NeuralOptions, header: Header, arrays: Arrays) -> Scratch:
        return cls(options, *(Vocabulary(unpack_strings(arrays[name])) for name in ("words", "letters")))

    def parts(self) -> tuple[Header, Arrays]:
        vocabularies = {"words": self.words, "letters": self.spelling.letters}
        return {}, {name: pack_strings(one.strings) for name, one in vocabularies.items()}

    def forward(self, sentences: Sentences) -> Tensor:
        lengths = torch.tensor([len(words) for words in sentences])
        vectors = self.dropout(self._read_words([word for words in sentences for word in words]))
        padded = pad_sequence(list(vectors.split(lengths.tolist())), batch_first=True)
        packed = pack_padded_sequence(padded, lengths, batch_first=True, enforce_sorted=False)
        contexts, _ = pad_packed_sequence(self.context(packed)[0], batch_first=True)
        contexts = self.dropout(contexts)
        present = torch.arange(contexts.shape[1])[None, :] < lengths[:, None]
        return contexts[present.to(contexts.device)]

    def _read_words(self, words: list[str]) -> Tensor:
        """[words, numbers] of every word by itself."""
        number, device = self.words.of_all(words), self.word.weight.device
        if self.training:
            number = number.where(torch.rand(number.shape) >= self.hidden_words, UNKNOWN)
        return torch.cat([self.word(number.to(device)), self.spelling(words)], 1)


def letters_of(sentences: Sentences) -> Vocabulary:
    """All letters of a treebank."""
    return Vocabulary.of((letter for sentence in sentences for word in sentence for letter in word), 1)


def find_encoder(options: NeuralOptions) -> None:
    """Look for the encoder that the options ask for; that it cannot be had is told before anything is trained."""
    if not options.from_scratch:
        from latree.kinds.neural.pretrained import folder_of

        folder_of(options.encoder)


def make_encoder(options: NeuralOptions, sentences: Sentences) -> Encoder:
    """The encoder that the options ask for, before training."""
    if options.from_scratch:
        return Scratch.of(options, sentences)
    from latree.kinds.neural.pretrained import Pretrained  # takes seconds to import

    return Pretrained.found(options, letters_of(sentences))


def restore_encoder(options: NeuralOptions, header: Header, arrays: Arrays) -> Encoder:
    """The encoder that `parts` told of, its weights yet to be filled in."""
    if options.from_scratch:
        return Scratch.from_parts(options, header, arrays)
    from latree.kinds.neural.pretrained import Pretrained

    return Pretrained.from_parts(options, header, arrays)


def state_arrays(module: nn.Module) -> Arrays:
    """The weights of a network as arrays."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in module.state_dict().items()}


def kept_arrays(module: nn.Module) -> Arrays:
    """The same as a file keeps them: what belongs to an encoder, which is much, in half precision."""
    arrays = state_arrays(module)
    return {name: a.astype(np.float16 if name.startswith("encoder.") else np.float32) for name, a in arrays.items()}


def load_arrays(module: nn.Module, arrays: Arrays) -> None:
    """Take over the weights that `state_arrays` told, in whatever precision; what is amiss is a ValueError."""
    wanted: dict[str, Any] = module.state_dict()
    if set(wanted) != set(arrays):
        raise ValueError(f"the network has other weights than {', '.join(sorted(set(wanted) ^ set(arrays)))}")
    for name, tensor in wanted.items():
        if tuple(tensor.shape) != arrays[name].shape:
            raise ValueError(f"{name} is {arrays[name].shape}, not {tuple(tensor.shape)}")
    module.load_state_dict({name: torch.as_tensor(array) for name, array in arrays.items()})
