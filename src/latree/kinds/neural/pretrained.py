"""A transformer that has learned from much text, in the layout of Hugging Face, with layers of our own on top.

Its weights are read from safetensors alone, and become part of latree's model file with its tokeniser, so that a model
needs nothing but its file.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from latree.arrays import Longs, ranges, starts
from latree.errors import LatreeError
from latree.files import Arrays, Header, pack_strings, unpack_strings
from latree.kinds.neural import NeuralOptions
from latree.kinds.neural.eight_bits import EightBitLayers, with_eight_bits
from latree.kinds.neural.encoders import Encoder, Sentences
from latree.kinds.neural.spelling import Spelling, Vocabulary

try:
    from tokenizers import Tokenizer
    from transformers import AutoConfig, AutoModel
    from transformers.utils import logging
except ImportError:
    raise LatreeError("this needs transformers; install it with: pip install 'latree[neural]'") from None

logging.disable_progress_bar()

_TEXT = {"``": '"', "''": '"', "-LCB-": "{", "-RCB-": "}", "-LSB-": "[", "-RSB-": "]"}  # what treebanks write for signs
_OF_THE_MACHINE = ("_name_or_path", "transformers_version")  # in a transformer's configuration; no part of a model
_NEEDED = ("config.json", "tokenizer.json")
HEADS = 6
STEP = 8  # beside training, sentences are filled up to a multiple of so many words and pieces

MASKS = "[MASK]", "<mask>"  # what tokenisers call a piece that is hidden

Window = tuple[list[int], list[int]]  # pieces that are read together, and where each word has its last one


class Pretrained(Encoder):
    """A word's vector is the mean of its first and its last piece, and what its letters add: many transformers read no
    capitals.  A piece's is a mean of all layers, whose weights are learned.

    Beside training, a CPU reads with eight bits.
    """

    eight_bits = True

    def __init__(self, options: NeuralOptions, body: Any, tokenizer: Any, letters: Vocabulary) -> None:
        super().__init__()
        self.body, self.tokenizer = body, tokenizer
        self.width = int(body.config.hidden_size)
        self.spelling = Spelling(letters, options.characters)
        self.spelt = nn.Linear(options.characters, self.width)
        self.shares = nn.Parameter(torch.zeros(int(body.config.num_hidden_layers) + 1))  # of layers, as logs
        self.piece_dropout = options.piece_dropout
        layer = nn.TransformerEncoderLayer(
            self.width, _heads(self.width), 2 * self.width, options.dropout, batch_first=True, norm_first=True
        )
        self.top = nn.TransformerEncoder(layer, options.layers, enable_nested_tensor=False)
        self.room = int(getattr(body.config, "max_position_embeddings", 512)) - 2
        self.marks = self._marks()
        self._readers: list[tuple[Any, Any]] = []  # body and top with eight bits, when they have been asked for
        self.register_load_state_dict_post_hook(lambda *_: self._readers.clear())

    def train(self, mode: bool = True) -> Self:
        self._readers.clear()  # of weights that are about to change, or have changed
        super().train(mode)
        return self

    def readers(self) -> tuple[Any, Any]:
        """The transformer and the layers on top, as they read fastest."""
        weight = next(self.body.parameters())
        if self.training or not self.eight_bits or weight.device.type != "cpu" or weight.dtype != torch.float32:
            return self.body, self.top
        readers = self._readers
        if not readers:  # another thread may make the same meanwhile
            readers.append((with_eight_bits(self.body), EightBitLayers(self.top)))
        return readers[0]

    @classmethod
    def found(cls, options: NeuralOptions, letters: Vocabulary) -> Pretrained:
        """The transformer that the options name, with these letters."""
        source = folder_of(options.encoder)
        try:
            tokenizer = Tokenizer.from_file(str(Path(source) / "tokenizer.json"))
            body = AutoModel.from_pretrained(source, use_safetensors=True, local_files_only=True).float()
        except (OSError, ValueError) as error:
            raise LatreeError(f"{options.encoder}: no transformer could be read: {error}") from None
        return cls(options, body, _plain(tokenizer), letters)

    @classmethod
    def from_parts(cls, options: NeuralOptions, header: Header, arrays: Arrays) -> Pretrained:
        config = AutoConfig.for_model(**header["config"])
        tokenizer = Tokenizer.from_str(arrays["tokenizer"].tobytes().decode())
        return cls(
            options,
            AutoModel.from_config(config).float(),
            _plain(tokenizer),
            Vocabulary(unpack_strings(arrays["letters"])),
        )

    def parts(self) -> tuple[Header, Arrays]:
        tokenizer = np.frombuffer(self.tokenizer.to_str().encode(), np.uint8)
        config = {name: value for name, value in self.body.config.to_dict().items() if name not in _OF_THE_MACHINE}
        return {"config": config}, {"tokenizer": tokenizer, "letters": pack_strings(self.spelling.letters.strings)}

    def forward(self, sentences: Sentences) -> Tensor:
        body, layers = self.readers()
        vectors = self._read(body, [window for words in sentences for window in self._windows(words)])
        vectors = vectors + self.spelt(self.spelling([word for words in sentences for word in words]))
        lengths = np.array([len(words) for words in sentences])
        first, made, order = starts(lengths), list[Tensor](), list[Longs]()
        for group in self._together(lengths):
            cells = Cells.of(lengths[group], self._filled(max(lengths[group])))
            place = ranges(first[group], lengths[group])
            padded = vectors.new_zeros(cells.rows * cells.size, self.width)
            padded = padded.index_copy(0, self._there(cells.place), vectors[self._there(place)])
            absent = self._there(~cells.present)
            seen = layers(padded.view(cells.rows, cells.size, -1), src_key_padding_mask=absent)
            made.append(seen.flatten(0, 1)[self._there(cells.place)])
            order.append(place)
        return self._in_order(made, order)

    def _read(self, body: Any, windows: Sequence[Window]) -> Tensor:
        """[all words, width] what the transformer makes of each: the mean of its first and its last piece."""
        words = starts([len(last) for _, last in windows])
        lengths, made, order = np.array([len(ids) for ids, _ in windows]), list[Tensor](), list[Longs]()
        for group in self._together(lengths):
            cells = Cells.of(lengths[group], min(self._filled(max(lengths[group])), self.room))
            ids = np.zeros(cells.rows * cells.size, np.int64)
            ids[cells.place] = [piece for k in group for piece in windows[k][0]]
            pieces, present = self._there(ids).view(cells.rows, cells.size), self._there(cells.present)
            if self.training:
                hidden = torch.rand(pieces.shape, device=pieces.device) < self.piece_dropout
                pieces = pieces.masked_fill(hidden & present, self._mask)
            seen = self._mixed(body(input_ids=pieces, attention_mask=present.long(), output_hidden_states=True))
            flat, ends = seen.flatten(0, 1), self._ends([windows[k] for k in group], cells.size)
            first, last = (flat[self._there(places)] for places in ends)
            made.append((first + last) / 2)
            order.append(ranges(words[group], np.diff(words)[group]))
        return self._in_order(made, order)

    def _ends(self, windows: Sequence[Window], size: int) -> tuple[Longs, Longs]:
        """Where every word has its first piece, and where its last, in windows that are rows of this size."""
        last = [size * row + np.array(places, np.int64) for row, (_, places) in enumerate(windows)]
        first = [np.append(size * row + len(self.marks[0]), places[:-1] + 1) for row, places in enumerate(last)]
        return np.concatenate(first), np.concatenate(last)

    def _there(self, array: NDArray[Any]) -> Tensor:
        """An array where the network computes."""
        return torch.from_numpy(array).to(self.shares.device)

    def _in_order(self, made: Sequence[Tensor], order: Sequence[Longs]) -> Tensor:
        """The rows of all groups, each of which goes to its place."""
        if len(made) == 1:
            return made[0]
        return torch.cat(list(made))[self._there(np.argsort(np.concatenate(order)))]

    def _mixed(self, seen: Any) -> Tensor:
        """[sentences, pieces, width] the mean of all layers."""
        shares = self.shares.softmax(0)
        mixed: Tensor = sum(
            (share * layer for share, layer in zip(shares, seen.hidden_states, strict=True)), shares[0] * 0
        )
        return mixed

    @cached_property
    def _mask(self) -> int:
        """The piece that stands where one is hidden."""
        known = (self.tokenizer.token_to_id(mask) for mask in MASKS)
        return next((number for number in known if number is not None), self._unknown)

    def _together(self, lengths: Longs) -> list[Longs]:
        """Which are read in one go: all in training, and where many are read as fast as one; else those that are
        filled up to the same length by themselves, so that what is made of one does not depend on others."""
        if self.training or self.shares.device.type != "cpu":
            return [np.arange(len(lengths))]
        filled = np.array([self._filled(length) for length in lengths])
        return [np.flatnonzero(filled == size) for size in dict.fromkeys(filled.tolist())]

    def _filled(self, length: int) -> int:
        """The length that something of this length is filled up to at least."""
        return 0 if self.training else -(-int(length) // STEP) * STEP

    def _windows(self, words: Sequence[str]) -> Iterator[Window]:
        """The pieces of a sentence between the tokeniser's marks, and where each of its words has its last piece."""
        begin, end = self.marks
        ids, last = [*begin], list[int]()
        for pieces in self._pieces(words):
            if last and len(ids) + len(pieces) + len(end) > self.room:
                yield ids + end, last
                ids, last = [*begin], []
            ids += pieces
            last.append(len(ids) - 1)
        yield ids + end, last

    def _pieces(self, words: Sequence[str]) -> Iterator[list[int]]:
        """The pieces of every word, at least one, and of a very long one no more than there is room for."""
        encoded = self.tokenizer.encode([_as_text(word) for word in words], is_pretokenized=True)
        pieces: list[list[int]] = [[] for _ in words]
        for piece, word in zip(encoded.ids, encoded.word_ids, strict=True):
            if word is not None:
                pieces[word].append(piece)
        return (one[: self.room // 2] or [self._unknown] for one in pieces)

    @cached_property
    def _unknown(self) -> int:
        return self.tokenizer.token_to_id(getattr(self.tokenizer.model, "unk_token", None) or "[UNK]") or 0

    def _marks(self) -> tuple[list[int], list[int]]:
        """What the tokeniser puts before a sentence and after it."""
        encoded = self.tokenizer.encode(["a"], is_pretokenized=True)
        words = [k for k, word in enumerate(encoded.word_ids) if word is not None]
        return encoded.ids[: words[0]], encoded.ids[words[-1] + 1 :]


class Cells(NamedTuple):
    """Rows of some lengths, filled up to one size and laid end to end."""

    rows: int
    size: int
    present: NDArray[np.bool_]  # [rows, size] whether something stands there
    place: Longs  # where these are

    @classmethod
    def of(cls, lengths: Longs, least: int) -> Cells:
        size = max(int(lengths.max()), least)
        present = np.arange(size) < lengths[:, None]
        return cls(len(lengths), size, present, np.flatnonzero(present))


def _as_text(word: str) -> str:
    """A treebank's word as it stands in text."""
    return _TEXT.get(word, word).replace("\\/", "/")


def _plain(tokenizer: Any) -> Any:
    """A tokeniser that neither cuts nor fills up sentences: that is done here."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _heads(width: int) -> int:
    return next(heads for heads in (HEADS, 8, 4, 2, 1) if width % heads == 0)


def folder_of(name: str) -> str:
    """Where the files of a transformer are: a folder, one inside a package, or what the hub gives by this name."""
    if os.path.isdir(name):
        return _checked(Path(name))
    if name.isidentifier() and (spec := importlib.util.find_spec(name)) and spec.submodule_search_locations:
        inside = (found.parent for top in spec.submodule_search_locations for found in Path(top).rglob("config.json"))
        for folder in inside:
            if all((folder / one).is_file() for one in _NEEDED):
                return str(folder)
        raise LatreeError(f"{name}: the package holds no folder with {' and '.join(_NEEDED)}")
    return _from_hub(name)


def _checked(folder: Path) -> str:
    if missing := [one for one in _NEEDED if not (folder / one).is_file()]:
        raise LatreeError(f"{folder}: no {' and no '.join(missing)} there; it should be in the layout of Hugging Face")
    return str(folder)


def _from_hub(name: str) -> str:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return str(snapshot_download(name, allow_patterns=["*.safetensors", *_NEEDED]))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise LatreeError(f"{name}: no folder, no package, and not to be had from the hub: {reason}") from None
