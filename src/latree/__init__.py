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
    from latree.errors import InputError as InputError
    from latree.errors import LatreeError as LatreeError
    from latree.inference.results import Constituent as Constituent
    from latree.inference.results import Parse as Parse
    from latree.inference.results import Tagging as Tagging
    from latree.kinds.gm_lveg.model import GmLveg as GmLveg
    from latree.kinds.gm_lveg.model import GmLvegTagger as GmLvegTagger
    from latree.kinds.hmm.model import Hmm as Hmm
    from latree.kinds.lvg.model import Lvg as Lvg
    from latree.kinds.lvg.model import LvgTagger as LvgTagger
    from latree.kinds.lvg_d.model import LvgD as LvgD
    from latree.kinds.lvg_d.model import LvgDTagger as LvgDTagger
    from latree.kinds.pcfg.model import Pcfg as Pcfg
    from latree.kinds.product.model import Product as Product
    from latree.kinds.registry import load as load
    from latree.kinds.svs.model import Svs as Svs
    from latree.scoring.score import score_tags as score_tags
    from latree.scoring.score import score_trees as score_trees
    from latree.text.binary import Binarization as Binarization
    from latree.text.formats import read_tagged as read_tagged
    from latree.text.formats import read_trees as read_trees
    from latree.text.labels import LabelRules as LabelRules
    from latree.text.sentences import tokenize as tokenize
    from latree.text.tokenize import Token as Token
    from latree.text.tree import Tree as Tree

__version__ = "0.1.0"

_HOME = {
    "Binarization": "text.binary",
    "Constituent": "inference.results",
    "LvgD": "kinds.lvg_d.model",
    "LvgDTagger": "kinds.lvg_d.model",
    "GmLveg": "kinds.gm_lveg.model",
    "GmLvegTagger": "kinds.gm_lveg.model",
    "Hmm": "kinds.hmm.model",
    "InputError": "errors",
    "LabelRules": "text.labels",
    "LatreeError": "errors",
    "Lvg": "kinds.lvg.model",
    "LvgTagger": "kinds.lvg.model",
    "Parse": "inference.results",
    "Pcfg": "kinds.pcfg.model",
    "Product": "kinds.product.model",
    "Svs": "kinds.svs.model",
    "Tagging": "inference.results",
    "Token": "text.tokenize",
    "Tree": "text.tree",
    "load": "kinds.registry",
    "read_tagged": "text.formats",
    "read_trees": "text.formats",
    "score_tags": "scoring.score",
    "score_trees": "scoring.score",
    "tokenize": "text.sentences",
}
__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"latree.{_HOME[name]}"), name)
    raise AttributeError(f"module 'latree' has no attribute {name!r}")
