"""latree: latent-subtype grammars for parsing and tagging.

    import latree
    model = latree.Pcfg().fit(latree.read_trees("train.mrg", latree.LabelRules()))
    print(model.parse("The cat sat .".split()))

Names are imported when they are first used, so that `import latree` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from latree.binary import Binarization as Binarization
    from latree.errors import InputError as InputError
    from latree.errors import LatreeError as LatreeError
    from latree.labels import LabelRules as LabelRules
    from latree.models import load as load
    from latree.models.hmm import Hmm as Hmm
    from latree.models.lvg import Lvg as Lvg
    from latree.models.lvg_d import LvgD as LvgD
    from latree.models.lvg_d_tagger import LvgDTagger as LvgDTagger
    from latree.models.lvg_tagger import LvgTagger as LvgTagger
    from latree.models.pcfg import Pcfg as Pcfg
    from latree.models.product import Product as Product
    from latree.models.svs import Svs as Svs
    from latree.results import Constituent as Constituent
    from latree.results import Parse as Parse
    from latree.results import Tagging as Tagging
    from latree.score import score_tags as score_tags
    from latree.score import score_trees as score_trees
    from latree.tree import Tree as Tree
    from latree.treebank import read_tagged as read_tagged
    from latree.treebank import read_trees as read_trees

__version__ = "0.1.0"

_HOME = {
    "Binarization": "binary",
    "Constituent": "results",
    "LvgD": "models.lvg_d",
    "LvgDTagger": "models.lvg_d_tagger",
    "GmLveg": "models.gm_lveg",
    "GmLvegTagger": "models.gm_lveg_tagger",
    "Hmm": "models.hmm",
    "InputError": "errors",
    "LabelRules": "labels",
    "LatreeError": "errors",
    "Lvg": "models.lvg",
    "LvgTagger": "models.lvg_tagger",
    "Parse": "results",
    "Pcfg": "models.pcfg",
    "Product": "models.product",
    "Svs": "models.svs",
    "Tagging": "results",
    "Tree": "tree",
    "load": "models",
    "read_tagged": "treebank",
    "read_trees": "treebank",
    "score_tags": "score",
    "score_trees": "score",
}
__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"latree.{_HOME[name]}"), name)
    raise AttributeError(f"module 'latree' has no attribute {name!r}")
