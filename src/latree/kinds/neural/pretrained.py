"""A transformer that has learned from much text, in the layout of Hugging Face, with layers of our own on top.

Its weights are read from safetensors alone, and become part of latree's model file with its tokeniser, so that a model
needs nothing but its file.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from latree.errors import LatreeError
from latree.files import Arrays, Header
from latree.kinds.neural import NeuralOptions
from latree.kinds.neural.encoders import Encoder, Sentences

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


class Pretrained(Encoder):
    """A word's vector is that of its last piece."""

    def __init__(self, options: NeuralOptions, body: Any, tokenizer: Any) -> None:
        super().__init__()
        self.body, self.tokenizer = body, tokenizer
        self.width = int(body.config.hidden_size)
        layer = nn.TransformerEncoderLayer(
            self.width, _heads(self.width), 2 * self.width, options.dropout, batch_first=True, norm_first=True
        )
        self.top = nn.TransformerEncoder(layer, options.layers, enable_nested_tensor=False)
        self.room = int(getattr(body.config, "max_position_embeddings", 512)) - 2
        self.marks = self._marks()

    @classmethod
    def found(cls, options: NeuralOptions) -> Pretrained:
        """The transformer that the options name."""
        source = folder_of(options.encoder)
        try:
            tokenizer = Tokenizer.from_file(str(Path(source) / "tokenizer.json"))
            body = AutoModel.from_pretrained(source, use_safetensors=True, local_files_only=True)
        except (OSError, ValueError) as error:
            raise LatreeError(f"{options.encoder}: no transformer could be read: {error}") from None
        return cls(options, body, _plain(tokenizer))

    @classmethod
    def from_parts(cls, options: NeuralOptions, header: Header, arrays: Arrays) -> Pretrained:
        config = AutoConfig.for_model(**header["config"])
        tokenizer = Tokenizer.from_str(arrays["tokenizer"].tobytes().decode())
        return cls(options, AutoModel.from_config(config), _plain(tokenizer))

    def parts(self) -> tuple[Header, Arrays]:
        tokenizer = np.frombuffer(self.tokenizer.to_str().encode(), np.uint8)
        config = {name: value for name, value in self.body.config.to_dict().items() if name not in _OF_THE_MACHINE}
        return {"config": config}, {"tokenizer": tokenizer}

    def forward(self, sentences: Sentences) -> Tensor:
        lengths = [len(words) for words in sentences]
        vectors = pad_sequence(list(self._read(sentences).split(lengths)), batch_first=True)
        place = torch.arange(max(lengths), device=vectors.device)
        beyond = place[None, :] >= torch.tensor(lengths, device=vectors.device)[:, None]
        top: Tensor = self.top(vectors, src_key_padding_mask=beyond)
        return top

    def _read(self, sentences: Sentences) -> Tensor:
        """[all words, width] what the transformer makes of them; a sentence of many pieces is read in windows."""
        windows = [window for words in sentences for window in self._windows(words)]
        device = self.body.device
        pieces = pad_sequence([torch.tensor(ids) for ids, _ in windows], batch_first=True).to(device)
        present = pad_sequence([torch.ones(len(ids), dtype=torch.long) for ids, _ in windows], batch_first=True)
        seen: Tensor = self.body(input_ids=pieces, attention_mask=present.to(device)).last_hidden_state
        row = torch.tensor([k for k, (_, last) in enumerate(windows) for _ in last], device=device)
        return seen[row, torch.tensor([place for _, last in windows for place in last], device=device)]

    def _windows(self, words: Sequence[str]) -> Iterator[tuple[list[int], list[int]]]:
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
        unknown = self.tokenizer.token_to_id(getattr(self.tokenizer.model, "unk_token", None) or "[UNK]") or 0
        return (one[: self.room // 2] or [unknown] for one in pieces)

    def _marks(self) -> tuple[list[int], list[int]]:
        """What the tokeniser puts before a sentence and after it."""
        encoded = self.tokenizer.encode(["a"], is_pretokenized=True)
        words = [k for k, word in enumerate(encoded.word_ids) if word is not None]
        return encoded.ids[: words[0]], encoded.ids[words[-1] + 1 :]


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
