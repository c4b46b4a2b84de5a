"""Words by their letters: what a word is made of tells of words that a treebank does not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

PAD, UNKNOWN = 0, 1  # the first numbers of every vocabulary
_LONGEST = 20  # letters of a word that are looked at: the first and the last ten of a longer one
_TOGETHER = 3  # letters that stand together


class Vocabulary:
    """Numbers for strings."""

    def __init__(self, strings: Iterable[str]) -> None:
        self.strings = tuple(strings)
        self.number = {string: k for k, string in enumerate(self.strings, start=UNKNOWN + 1)}

    @classmethod
    def of(cls, strings: Iterable[str], least: int) -> Vocabulary:
        """Those that occur so many times, in the order of the alphabet."""
        counts = Counter(strings)
        return cls(sorted(string for string, count in counts.items() if count >= least))

    def __len__(self) -> int:
        return UNKNOWN + 1 + len(self.strings)

    def of_all(self, strings: Iterable[str]) -> Tensor:
        return torch.tensor([self.number.get(string, UNKNOWN) for string in strings])


class Spelling(nn.Module):
    """Letters that stand together, and of each number that they make the largest in the word."""

    def __init__(self, letters: Vocabulary, numbers: int) -> None:
        super().__init__()
        self.letters = letters
        self.letter = nn.Embedding(len(letters), numbers // 2, PAD)
        self.together = nn.Conv1d(numbers // 2, numbers, _TOGETHER, padding=_TOGETHER // 2)

    def forward(self, words: Sequence[str]) -> Tensor:
        """[words, numbers], where equal words are read once."""
        distinct = {word: k for k, word in enumerate(dict.fromkeys(words))}
        place = torch.tensor([distinct[word] for word in words], device=self.letter.weight.device)
        return self._spell(distinct)[place]

    def _spell(self, words: Iterable[str]) -> Tensor:
        cut = (w if len(w) <= _LONGEST else w[: _LONGEST // 2] + w[-(_LONGEST // 2) :] for w in words)
        letters = pad_sequence([self.letters.of_all(word) for word in cut], batch_first=True, padding_value=PAD)
        letters = letters.to(self.letter.weight.device)
        seen = torch.relu(self.together(self.letter(letters).transpose(1, 2)))
        return (seen * (letters != PAD)[:, None]).amax(2)  # a word is the same beside longer ones
