"""What requests ask for, whatever way they come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from latree import __version__
from latree.errors import LatreeError
from latree.kinds.model import Model
from latree.kinds.sentences import Sentence
from latree.text.draw import Picture, render
from latree.text.partial_trees import Bracket, PartialTree
from latree.text.tree import Tree
from latree.web.library import Library
from latree.web.limits import Limits
from latree.web.metrics import Metrics
from latree.web.queue import Queue
from latree.web.refusal import RefusalError
from latree.web.tasks import Json, KBestTask, ParseTask, PosteriorsTask, SubtypesTask, SurprisalTask, TagTask, Task
from latree.web.worker import Job

BEST = 5  # trees of /kbest, where nothing is said
LEAST = 0.01  # probability of what /posteriors lists, where nothing is said
SAVED = "saved.mrg"  # in the folder of --save


class Service:
    """Models, limits and counts; every method that is given a request answers it."""

    def __init__(self, given: Sequence[Path] = (), limits: Limits | None = None, folder: Path | None = None) -> None:
        self.limits, self.metrics, self.folder = limits or Limits(), Metrics(), folder
        self.library = Library(given, self.limits.waiting, self.metrics)
        self.queue: Queue | None = None
        self._saved = 0

    def offer(self, sentences: Iterable[Sequence[str]]) -> None:
        """Offer sentences to be annotated, ranked in the background; the server must have a folder to save in."""
        assert self.folder is not None
        self.queue = Queue(sentences, self.folder / SAVED, self.limits.words)
        self.queue.start(self.library.shelf(None))

    def close(self) -> None:
        """Finish what is under way, but for a ranking."""
        if self.queue is not None:
            self.queue.close()
        self.library.close()

    # -- sentences

    async def parse(self, request: Json) -> Json:
        return await self._answer(request, ParseTask(request.get("objective", "max-rule")))

    async def tag(self, request: Json) -> Json:
        return await self._answer(request, TagTask(request.get("objective", "max-rule")))

    async def kbest(self, request: Json) -> Json:
        task = KBestTask(request.get("k", BEST), request.get("objective", "max-rule"))
        return await self._answer(request, task, self.limits.exact_words if task.objective == "viterbi" else None)

    async def posteriors(self, request: Json) -> Json:
        return await self._answer(request, PosteriorsTask(request.get("least", LEAST)))

    async def surprisal(self, request: Json) -> Json:
        return await self._answer(request, SurprisalTask(), self.limits.surprisal_words)

    async def _answer(self, request: Json, task: Task, most_words: int | None = None) -> Json:
        shelf = self.library.shelf(request.get("model"))
        worker = await asyncio.to_thread(shelf.worker)
        words = await asyncio.to_thread(_words, worker.model, request)
        self._check_sizes(words, most_words or self.limits.words)
        job = Job(task, _constrained(words, request.get("constraints")))
        return {"model": shelf.name, "sentences": await asyncio.wrap_future(worker.submit(job))}

    def _check_sizes(self, sentences: Sequence[Sequence[str]], most_words: int) -> None:
        if len(sentences) > self.limits.sentences:
            raise LatreeError(f"the text has {len(sentences)} sentences; the limit is {self.limits.sentences}")
        for number, words in enumerate(sentences, start=1):
            if len(words) > most_words:
                raise LatreeError(f"sentence {number} has {len(words)} words; the limit is {most_words}")

    # -- trees

    async def draw(self, request: Json) -> Json:
        """A given tree as a picture."""
        picture = Picture(_tree(request["tree"]))
        return {"drawing": await asyncio.to_thread(render, [picture], request.get("format", "svg"))}

    async def subtypes(self, request: Json) -> Json:
        """The likeliest subtype of every node of a given tree."""
        shelf, tree = self.library.shelf(request.get("model")), _tree(request["tree"])
        self._check_sizes([tree.words()], self.limits.words)
        worker = await asyncio.to_thread(shelf.worker)
        job = Job(SubtypesTask(await asyncio.to_thread(lambda: shelf.typical)), [tree])
        (told,) = await asyncio.wrap_future(worker.submit(job))
        return {"model": shelf.name} | told

    async def save(self, request: Json) -> Json:
        """Append a tree to the file of corrected ones, where the server was given a place for it."""
        if self.folder is None:
            raise RefusalError(404, "this server keeps no trees; it was started without --save")
        tree = _tree(request["tree"])
        await asyncio.to_thread(_append, self.folder / SAVED, f"{tree}\n".encode())
        self._saved += 1
        if self.queue is not None:
            self.queue.mark(tree.words())
        return {"saved": self._saved}

    async def next(self, request: Json) -> Json:
        """The next sentence to annotate, where the server was given some."""
        if self.queue is None:
            raise RefusalError(404, "this server has no sentences to annotate; it was started without --queue")
        return self.queue.next(request.get("after", 0))

    # -- about itself

    async def models(self, request: Json) -> Json:
        facts = await asyncio.to_thread(lambda: [shelf.facts for shelf in self.library.shelves.values()])
        limits = asdict(self.limits)
        return {
            "models": facts,
            "default": self.library.default,
            "saves": self.folder is not None,
            "queue": self.queue is not None,
            "limits": limits,
        }

    async def health(self, request: Json) -> Json:
        return {"status": "ok", "version": __version__}

    async def metrics_text(self, request: Json) -> str:
        return self.metrics.text({name: shelf.waiting for name, shelf in self.library.shelves.items()})


def _words(model: Model, request: Json) -> list[Sequence[str]]:
    """The sentences of a request, which has them in one of two ways."""
    if ("text" in request) == ("sentences" in request):
        raise LatreeError("give either 'text' or 'sentences'")
    if "text" in request:
        return [*model.tokenize(request["text"], wrapped=request.get("wrapped", False))]
    if "wrapped" in request:
        raise LatreeError("'wrapped' is about 'text'; it has no effect with 'sentences'")
    return [*map(model.words_of, request["sentences"])]


def _constrained(sentences: Sequence[Sequence[str]], constraints: list[list[Json]] | None) -> Sequence[Sentence]:
    """Sentences with what is known of their trees."""
    if constraints is None:
        return sentences
    if len(constraints) != len(sentences):
        raise LatreeError(f"there are constraints for {len(constraints)} sentences, and {len(sentences)} sentences")
    return [
        PartialTree(tuple(words), tuple(map(_bracket, brackets))) if brackets else words
        for words, brackets in zip(sentences, constraints, strict=True)
    ]


def _bracket(given: Json) -> Bracket:
    return Bracket(given.get("label"), given["start"], given["end"], given.get("forbidden", False))


def _tree(text: str) -> Tree:
    try:
        return Tree.read(text)
    except LatreeError as error:
        raise LatreeError(f"tree: {str(error).removeprefix('<text>:')}") from None


def _append(path: Path, line: bytes) -> None:
    """Write a line at the end of a file in one piece, so that lines never mix."""
    try:
        with path.open("ab", buffering=0) as file:
            file.write(line)
    except OSError as error:
        raise RefusalError(500, f"{path.name} cannot be written: {error.strerror or error}") from None


Handler = Callable[[Service, Json], Any]
