"""A spaCy pipe: `nlp.add_pipe("latree")` gives every sentence a tree, with attributes that users of benepar know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from latree.data import DEFAULT
from latree.errors import LatreeError
from latree.inference.results import Parse
from latree.integrations.benepar_names import model_meant
from latree.integrations.common import missing, regrouped, the_parser
from latree.integrations.spacy_trees import keep, register_attributes, words_of
from latree.kinds.jobs import Parcel
from latree.kinds.parser import Parser

try:
    from spacy.language import Language
    from spacy.pipeline import Pipe
    from spacy.util import minibatch
except ImportError:
    raise missing("spaCy", "spacy") from None

_FILE = "model.latree"  # in the pipe's folder of a pipeline on disk


class LatreePipe(Pipe):  # type: ignore[misc]
    """Parses the sentences of documents, by spaCy's own sentence and token boundaries.

    The model is loaded when it is first needed: a pipeline that comes from disk brings its own, and the file that it
    was made with may be gone.
    """

    def __init__(self, name: str, model: str, *, kbest: int, set_tags: bool) -> None:
        if kbest < 1:
            raise LatreeError(f"kbest: cannot list {kbest} trees; ask for one or more")
        register_attributes()
        self.name, self.model_name, self.kbest, self.set_tags = name, model, kbest, set_tags
        self._parser: Parser | None = None

    @property
    def parser(self) -> Parser:
        """The parser; another may be put in its place.

        Not called `model`: spaCy looks for attributes of that name while a pipeline is made, and would have it loaded.
        """
        if self._parser is None:
            self._parser = the_parser(model_meant(self.model_name))
        return self._parser

    @parser.setter
    def parser(self, model: Any) -> None:
        self._parser = the_parser(model)

    def __call__(self, doc: Any) -> Any:
        """Parse the sentences of one document."""
        self._parse([doc])
        return doc

    def pipe(self, stream: Iterable[Any], *, batch_size: int = 128) -> Iterator[Any]:
        """Parse documents, the sentences of a batch of them at once."""
        for docs in minibatch(stream, size=batch_size):
            try:
                self._parse(docs)
            except Exception as error:  # whatever it is, the pipeline was told what to do with it
                self.get_error_handler()(self.name, self, docs, error)
            else:
                yield from docs

    def _parse(self, docs: Sequence[Any]) -> None:
        sentences = [sentence for doc in docs for sentence in _sentences(doc)]
        words = [[token.text for token in words_of(sentence)] for sentence in sentences]
        for sentence, parses in zip(sentences, self._best(words), strict=True):
            keep(sentence, parses, self.parser.labels.root)
            if self.set_tags and parses[0].tree is not None:
                _set_tags(sentence, parses[0].tree.tags())

    def _best(self, sentences: list[list[str]]) -> Iterator[list[Parse]]:
        """The best parses of every sentence."""
        if self.kbest == 1:
            return regrouped(self.parser.parse_all(sentences), [1] * len(sentences))
        return (self.parser.kbest(words, self.kbest) for words in sentences)

    # -- pipelines on disk

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model into the pipe's folder."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        self.parser.save(folder / _FILE)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> LatreePipe:
        """Take the model from the pipe's folder."""
        self.parser = Path(path) / _FILE
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The model's file."""
        with TemporaryDirectory() as folder:
            self.to_disk(folder)
            return (Path(folder) / _FILE).read_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> LatreePipe:
        """Take the model that `to_bytes` wrote."""
        with TemporaryDirectory() as folder:
            (Path(folder) / _FILE).write_bytes(data)
            return self.from_disk(folder)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """Pickle as what another process makes the pipe from."""
        parcel = None if self._parser is None else Parcel(self._parser)
        return _unpacked, (self.name, self.model_name, self.kbest, self.set_tags, parcel)


def _unpacked(name: str, model: str, kbest: int, set_tags: bool, parcel: Parcel | None) -> LatreePipe:
    pipe = LatreePipe(name, model, kbest=kbest, set_tags=set_tags)
    if parcel is not None:
        pipe.parser = parcel.open()
    return pipe


def _sentences(doc: Any) -> Iterator[Any]:
    if len(doc) and not doc.has_annotation("SENT_START"):
        raise LatreeError(
            "latree parses sentence by sentence, and nothing in this pipeline sets sentence boundaries; add before it "
            'a parser, a senter, or nlp.add_pipe("sentencizer", before="latree")'
        )
    return iter(doc.sents)


def _set_tags(sentence: Any, tags: Sequence[str]) -> None:
    for token, tag in zip(words_of(sentence), tags, strict=True):
        token.tag_ = tag


@Language.factory(
    "latree",
    default_config={"model": DEFAULT, "kbest": 1, "set_tags": True, "disable_tagger": False},
    requires=["doc.sents"],
    assigns=["token.tag"],
)
def make_pipe(nlp: Language, name: str, model: str, kbest: int, set_tags: bool, disable_tagger: bool) -> LatreePipe:
    """Make the pipe.

    model            a model file, or the name of one that ships with latree.
    kbest            how many trees of a sentence are kept, `sent._.kbest`.
    set_tags         whether `token.tag_` becomes the tag that the token has in the tree.
    disable_tagger   what benepar calls it: the opposite of set_tags.
    """
    return LatreePipe(name, model, kbest=kbest, set_tags=set_tags and not disable_tagger)
