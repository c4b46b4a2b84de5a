"""Sentences that wait to be annotated, in the order in which annotating them teaches the model most."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from latree.experiments.doubts import Doubts
from latree.experiments.ranking import Ranked, ranked_by_doubts
from latree.text.formats import read_trees
from latree.text.tree import Tree, escape, unescape
from latree.web.refusal import RefusalError
from latree.web.tasks import DoubtsTask, Json
from latree.web.worker import Job

if TYPE_CHECKING:
    from latree.web.library import Shelf

BATCH = 8  # sentences of which the doubts are found at a time: who types meanwhile does not wait for many
PAUSE = 0.5  # seconds until a worker that had too much to do is asked again

Words = tuple[str, ...]


class Queue:
    """Sentences, ranked in the background; those that have been saved are not offered."""

    def __init__(self, sentences: Iterable[Sequence[str]], saved: Path, most_words: int) -> None:
        """`saved` has the trees that there are already; longer sentences than the server takes are left out."""
        self.sentences = [words for words in dict.fromkeys(map(tuple, sentences)) if 0 < len(words) <= most_words]
        self._saved = {tuple(tree.words()) for tree in _trees_in(saved)}
        self._ranked: list[tuple[Words, Ranked]] | None = None  # with their words as a file of trees has them
        self._doubted = 0
        self._error = ""
        self._is_closing = Event()

    def start(self, shelf: Shelf) -> None:
        """Rank by the doubts of a model, in the background."""
        Thread(target=self._rank, args=(shelf,), name="latree-queue", daemon=True).start()

    def close(self) -> None:
        self._is_closing.set()

    def mark(self, words: Iterable[str]) -> None:
        """Note that a tree of these words is saved."""
        self._saved.add(tuple(words))

    def next(self, after: int = 0) -> Json:
        """The first sentence behind a rank that is not saved, and how far the ranking and the saving are."""
        if self._error:
            raise RefusalError(500, f"the queue could not be ranked: {self._error}")
        left = [one for words, one in self._ranked or () if words not in self._saved]
        offered = next((one for one in left if one.rank > after), None)
        return {
            "state": "ranking" if self._ranked is None else "ranked",
            "ranked": self._doubted,
            "sentences": len(self.sentences),
            "left": len(left),
            "next": None if offered is None else {"rank": offered.rank, "tokens": list(offered.tokens)},
        }

    def _rank(self, shelf: Shelf) -> None:
        try:
            doubts = [*self._doubts(shelf)]
            if len(doubts) == len(self.sentences):
                self._ranked = [(_as_saved(one.tokens), one) for one in ranked_by_doubts(self.sentences, doubts)]
        except Exception as error:  # nobody waits in this thread: whoever asks next is told
            self._error = str(error)

    def _doubts(self, shelf: Shelf) -> Iterator[Doubts]:
        """The doubts of every sentence, found between what others ask for; cut short where the server ends."""
        worker = shelf.worker()
        while self._doubted < len(self.sentences) and not self._is_closing.is_set():
            job = Job(DoubtsTask(), self.sentences[self._doubted : self._doubted + BATCH])
            try:
                told = worker.submit(job).result()
            except RefusalError:
                time.sleep(PAUSE)
                continue
            yield from (Doubts(**one) for one in told)
            self._doubted += len(told)


def _as_saved(words: Words) -> Words:
    return tuple(unescape(escape(word)) for word in words)


def _trees_in(path: Path) -> Iterator[Tree]:
    """The trees of a file that may not be there yet."""
    return read_trees(path) if path.exists() and path.stat().st_size else iter(())
