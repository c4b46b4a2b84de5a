"""Makes the models that ship, from treebanks whose licences allow it.

    python -m scripts.make_models DATA WORK

DATA holds the treebanks.  Trees and models on the way are kept in the folder WORK, and not made again; those that ship
are written there as english.latree and biology.latree, with their scores, to be copied to src/latree/data.

biology: an lvg of the CRAFT corpus.  english: that corpus, en-open, and English Web sentences whose words and tags are
given but whose trees are not.  Three grammars, multiplied, parse these with the tags held fixed; three more learn from
all, multiplied they parse the sentences again, and from those trees the grammar that ships is learned.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from bench.english import all_scores

import latree
from latree.files import write_atomically
from latree.inference.reading import Emissions
from latree.kinds.lvg.model import Lvg
from latree.kinds.product.model import Product
from latree.text.tree import Tree

SEEDS = (0, 1, 2)
CRAFT_TREES = 5000
PARTS_OF_ARTICLES = ("TITLE", "HEADING", "CAPTION", "CIT")  # tops of CRAFT's trees that other texts lack
QUESTION_PHRASES = {"NP": "WHNP", "ADVP": "WHADVP", "PP": "WHPP", "ADJP": "WHADJP"}
QUESTION_TAGS = ("WP", "WDT", "WP$", "WRB")
FORMS_OF_BE = ("is", "are", "was", "were", "am", "'s", "'re")
# English Web tags that the treebanks lack: what the teachers read instead; where that is nothing, they choose.
STAND_INS = {"NFP": ":", "ADD": "NNP", "AFX": "JJ", "GW": None, "XX": None}


# -- treebanks made alike


def without_parts_of_articles(node: Tree, children: Sequence[Tree]) -> Tree:
    """CRAFT's trees without the nodes that say where in an article a sentence stands."""
    return node if node.word is not None else Tree(node.label, spliced(children, PARTS_OF_ARTICLES))


def with_question_phrases(node: Tree, children: Sequence[Tree]) -> Tree:
    """Trees of en-open, which were made by a parser, labelled as the Penn Treebank's guidelines have it.

    What begins a question or a relative clause with a question word is WHNP and so on (two thirds are NP there), and
    the verb of "What is this ?" stands under SQ itself.
    """
    if node.word is not None:
        return node
    children = list(children)
    if node.label in ("SBAR", "SBARQ") and len(children) > 1:
        children[0] = _question_phrase(children[0])
    if node.label == "SQ" and len(children) == 1 and _is_copula_phrase(children[0]):
        children = list(children[0].children)
    return Tree(node.label, children)


def without_nominals(node: Tree, children: Sequence[Tree]) -> Tree:
    """Trees without NML, which CRAFT alone has: web text is annotated as en-open is."""
    return node if node.word is not None else Tree(node.label, spliced(children, ("NML",)))


def spliced(children: Sequence[Tree], labels: Collection[str]) -> list[Tree]:
    """The children, those with one of these labels replaced by what is below them."""
    return [part for child in children for part in (child.children if child.label in labels else [child])]


def _question_phrase(node: Tree) -> Tree:
    if node.word is not None or node.label not in QUESTION_PHRASES:
        return node
    inner = node.children[1] if node.label == "PP" and len(node.children) == 2 else node
    if next(iter(inner.tags())) not in QUESTION_TAGS:
        return node
    return Tree(QUESTION_PHRASES[node.label], node.children)


def _is_copula_phrase(node: Tree) -> bool:
    if node.label != "VP" or len(node.children) < 2:
        return False
    verb, after = node.children[:2]
    return verb.word is not None and verb.word.lower() in FORMS_OF_BE and after.label == "NP"


def read_clean(path: Path, change: Callable[[Tree, Sequence[Tree]], Tree]) -> list[Tree]:
    """The trees of a file with clean labels, changed from the leaves up."""
    return [tree.fold(change) for tree in latree.read_trees(path, latree.LabelRules())]


def chosen(trees: Sequence[Tree], number: int) -> list[Tree]:
    """So many trees, spread over all."""
    return [trees[k] for k in np.linspace(0, len(trees) - 1, number).astype(int)]


# -- parsing with given tags


class TaggedWord(str):
    """A word whose tag is known."""

    tag: str


class Teacher(Lvg):
    """A grammar that takes tags of words as given."""

    def read(self, tokens: Sequence[str]) -> Emissions:
        reading = super().read(tokens)
        columns = self.layout.tag_columns
        for row, token in enumerate(tokens):
            tag = STAND_INS.get(token.tag, token.tag) if isinstance(token, TaggedWord) else None
            place = next((k for k, symbol in enumerate(self.grammar.tags) if symbol.label == tag), None)
            if place is not None:
                _keep(reading.tags[row], place, place + 1)
                _keep(reading.subtypes[row], columns[place], columns[place + 1])
        return reading


def _keep(row: np.ndarray, start: int, end: int) -> None:
    """Rule out all but these columns, which may have been ruled out before."""
    kept = row[start:end].copy() if row[start:end].any() else np.full(end - start, 1e-6)
    row[:], row[start:end] = 0.0, kept


def parsed_by(grammars: Sequence[Lvg], sentences: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Iterator[Tree]:
    """The trees of tagged sentences, with the tags that they have; sentences without a parse are left out."""
    teachers = [Teacher.from_state(*grammar.state()) for grammar in grammars]
    for parse in Product(teachers).parse_all([_tagged(words, tags) for words, tags in sentences]):
        if parse.status == "ok" and parse.tree is not None:
            tags = [token.tag for token in parse.tokens if isinstance(token, TaggedWord)]
            yield parse.tree.fold(partial(_with_tag, tags))


def _with_tag(tags: list[str], node: Tree, children: Sequence[Tree]) -> Tree:
    """The node, or a leaf with the last of the tags: leaves come from the last to the first."""
    return Tree(node.label, children) if node.word is None else Tree(tags.pop(), word=node.word)


def _tagged(words: Sequence[str], tags: Sequence[str]) -> list[str]:
    tagged = [TaggedWord(word) for word in words]
    for word, tag in zip(tagged, tags, strict=True):
        word.tag = tag
    return list(tagged)


# -- the models


class Workshop:
    """Makes trees and models, and keeps them in a folder."""

    def __init__(self, data: Path, work: Path) -> None:
        self.work = work
        craft = data / "constituency/en-craft/train.mrg.gz"
        self.craft = chosen(read_clean(craft, without_parts_of_articles), CRAFT_TREES)
        self.open = read_clean(data / "constituency/en-open/train.mrg.gz", with_question_phrases)
        self.web = list(latree.read_tagged(data / "tagging/en-ewt/train.conllu.gz", "xpos"))
        self.biology = list(latree.read_trees(craft))
        work.mkdir(parents=True, exist_ok=True)

    def grammar(self, name: str, trees: Sequence[Tree], rounds: int, seed: int) -> Lvg:
        """Learn a grammar."""
        path = self.work / f"{name}.latree"
        if not path.exists():
            print(f"{name}: learning from {len(trees)} trees", flush=True)
            Lvg(rounds=rounds, seed=seed).fit(trees).save(path)
        model = latree.load(path)
        assert isinstance(model, Lvg)
        return model

    def web_trees(self, name: str, teachers: Sequence[Lvg]) -> list[Tree]:
        """Parse the web sentences with the tags that they have."""
        path = self.work / f"{name}.mrg"
        if not path.exists():
            print(f"{name}: parsing {len(self.web)} sentences", flush=True)
            write_atomically(path, "".join(f"{tree}\n" for tree in parsed_by(teachers, self.web)).encode())
        return read_clean(path, with_question_phrases)

    def make_english(self) -> Lvg:
        """Learn, teach, learn, teach, learn."""
        known = self.open + self.craft
        # In the end en-open counts twice: it is the only general text whose trees come from no grammar of ours.
        first = [self.grammar(f"first-{seed}", known, 4, seed) for seed in SEEDS]
        more = known + self.web_trees("web-1", first)
        second = [self.grammar(f"second-{seed}", more, 5, seed) for seed in SEEDS]
        web = [tree.fold(without_nominals) for tree in self.web_trees("web-2", second)]
        return self.grammar("third", self.open + known + web, 5, 0).trimmed()

    def make_biology(self) -> Lvg:
        """Learn from one corpus as it is."""
        return self.grammar("biology-whole", self.biology, 4, 0)


SUMMARY = {
    "english": "general English: web, news, encyclopedic and scholarly text",
    "biology": "English of biology papers",
}
LICENCE = {
    "english": "CC BY-SA 4.0; learned from GUM, CRAFT and the English Web Treebank, see the card",
    "biology": "CC BY 3.0; learned from CRAFT, see the card",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    given = parser.parse_args()
    workshop = Workshop(given.data, given.work)
    for name, make in (("english", workshop.make_english), ("biology", workshop.make_biology)):
        model = make()
        model.training = {
            "command": f"python -m scripts.make_models {name}",
            "summary": SUMMARY[name],
            "licence": LICENCE[name],
            "scores": {
                part: {figure: round(value, 2) for figure, value in scores.items() if figure != "speed"}
                for part, scores in all_scores(model, given.data).items()
            },
        }
        model.save(given.work / f"{name}.latree")
        print(name, model.training["scores"])


if __name__ == "__main__":
    main()
