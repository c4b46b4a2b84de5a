"""latree: latent-subtype grammars for parsing and tagging.

With the English grammar that ships:

    import latree
    print(latree.parse("The cat sat on the mat."))  # a Parse: tree, probability, constituents, status
    for parse in latree.parse_all("It rains. I stay at home."):  # a text of several sentences
        print(parse.draw())
    latree.tag("The cat sat.")

With a grammar of your own:

    parser = latree.Pcfg().fit("train.mrg")  # or Lvg, LvgD, GmLveg, Svs; or fit(trees)
    parser.parse("The cat sat.")  # running text is split into words
    parser.parse(["The", "cat", "sat", "."])  # a list of words stays as it is
    parser.save("my.latree")
    parser = latree.load("my.latree")

    tagger = latree.Hmm().fit("train.conllu")  # or LvgTagger, LvgDTagger, GmLvegTagger
    tagger.tag("The cat sat.")

Names are imported when they are first used, so that `import latree` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from latree.check.findings import Finding as Finding
    from latree.check.treebank import check_treebank as check_treebank
    from latree.cluster import Cluster as Cluster
    from latree.errors import InputError as InputError
    from latree.errors import LatreeError as LatreeError
    from latree.experiments.cross_validation import cross_validate as cross_validate
    from latree.experiments.learning_curves import learning_curve as learning_curve
    from latree.experiments.ranking import rank_sentences as rank_sentences
    from latree.inference.constituents import Listed as Listed
    from latree.inference.results import Constituent as Constituent
    from latree.inference.results import Parse as Parse
    from latree.inference.results import Tagging as Tagging
    from latree.kinds.cvg.model import Cvg as Cvg
    from latree.kinds.english import parse as parse
    from latree.kinds.english import parse_all as parse_all
    from latree.kinds.english import tag as tag
    from latree.kinds.gm_lveg.model import GmLveg as GmLveg
    from latree.kinds.gm_lveg.model import GmLvegTagger as GmLvegTagger
    from latree.kinds.hmm.model import Hmm as Hmm
    from latree.kinds.lvg.model import Lvg as Lvg
    from latree.kinds.lvg.model import LvgTagger as LvgTagger
    from latree.kinds.lvg_d.model import LvgD as LvgD
    from latree.kinds.lvg_d.model import LvgDTagger as LvgDTagger
    from latree.kinds.neural.model import NeuralParser as NeuralParser
    from latree.kinds.neural.model import NeuralTagger as NeuralTagger
    from latree.kinds.parser import Parser as Parser
    from latree.kinds.pcfg.model import Pcfg as Pcfg
    from latree.kinds.product.model import Product as Product
    from latree.kinds.product.model import ProductTagger as ProductTagger
    from latree.kinds.registry import load as load
    from latree.kinds.svs.model import Svs as Svs
    from latree.kinds.tagger import Tagger as Tagger
    from latree.learning.loop import Training as Training
    from latree.scoring.parse_errors import classify_errors as classify_errors
    from latree.scoring.score import score_tags as score_tags
    from latree.scoring.score import score_trees as score_trees
    from latree.text.binary import Binarization as Binarization
    from latree.text.formats import read_tagged as read_tagged
    from latree.text.formats import read_trees as read_trees
    from latree.text.labels import LabelRules as LabelRules
    from latree.text.partial_trees import Bracket as Bracket
    from latree.text.partial_trees import PartialTree as PartialTree
    from latree.text.sentences import tokenize as tokenize
    from latree.text.tokenize import Token as Token
    from latree.text.tree import Tree as Tree

__version__ = "0.2.0"

_HOME = {
    "Binarization": "text.binary",
    "Bracket": "text.partial_trees",
    "Cluster": "cluster",
    "Constituent": "inference.results",
    "Cvg": "kinds.cvg.model",
    "NeuralParser": "kinds.neural.model",
    "NeuralTagger": "kinds.neural.model",
    "LvgD": "kinds.lvg_d.model",
    "LvgDTagger": "kinds.lvg_d.model",
    "Finding": "check.findings",
    "GmLveg": "kinds.gm_lveg.model",
    "GmLvegTagger": "kinds.gm_lveg.model",
    "Hmm": "kinds.hmm.model",
    "InputError": "errors",
    "LabelRules": "text.labels",
    "LatreeError": "errors",
    "Listed": "inference.constituents",
    "Lvg": "kinds.lvg.model",
    "LvgTagger": "kinds.lvg.model",
    "Parse": "inference.results",
    "Parser": "kinds.parser",
    "PartialTree": "text.partial_trees",
    "Pcfg": "kinds.pcfg.model",
    "Product": "kinds.product.model",
    "ProductTagger": "kinds.product.model",
    "Svs": "kinds.svs.model",
    "Tagger": "kinds.tagger",
    "Tagging": "inference.results",
    "Token": "text.tokenize",
    "Training": "learning.loop",
    "Tree": "text.tree",
    "check_treebank": "check.treebank",
    "classify_errors": "scoring.parse_errors",
    "cross_validate": "experiments.cross_validation",
    "learning_curve": "experiments.learning_curves",
    "load": "kinds.registry",
    "parse": "kinds.english",
    "parse_all": "kinds.english",
    "rank_sentences": "experiments.ranking",
    "read_tagged": "text.formats",
    "read_trees": "text.formats",
    "score_tags": "scoring.score",
    "score_trees": "scoring.score",
    "tag": "kinds.english",
    "tokenize": "text.sentences",
}


def _usable() -> list[str]:
    """The names above, without those of kinds whose library is not there."""
    from latree.kinds.registry import all_kinds  # when asked for: an import of latree alone imports nothing else

    absent = {place for kind in all_kinds().values() if not kind.is_usable for place in kind.places().values()}
    return [name for name, home in _HOME.items() if f"latree.{home}:{name}" not in absent]


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _usable()
    if name in _HOME:
        return getattr(import_module(f"latree.{_HOME[name]}"), name)
    raise AttributeError(f"module 'latree' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The names above, though most are not imported yet."""
    return [*_usable(), "__doc__", "__version__"]
