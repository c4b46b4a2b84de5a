"""From probabilities P(w | t_x) back to counts that give them.

A lexicon of latree holds counts, and makes P(w|t) = D_t (c_TW + a p_u) / (c_W + a) * c_W / c_T of them, with a factor D
that is the model's word smoothing.  The tokens m_t of each tag are estimated first.  Then v = m_t P(w|t) is the part
of c_W that the tag has, and the equation is solved for c_TW and c_W; D_t = c_T / m_t takes up the rest exactly.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from latree.arrays import Floats
from latree.importers.common import Words
from latree.lexicon.options import LexiconOptions
from latree.lexicon.signatures import make_scheme

CLASS = "UNK"  # how the names of unknown-word classes begin
SCHEME = "english"
_ROUNDS = 500  # of the estimation of m_t
_KNOWN, _UNKNOWN = LexiconOptions().known, 1e-4  # weights of p_u

Scores = Mapping[int, Mapping[str, Floats]]  # P(w | t_x) by tag and word


def words_of_scores(scores: Scores) -> Words:
    """The lexicon that gives these probabilities to words, and to classes of unknown words up to a factor."""
    columns = np.cumsum([0, *(len(next(iter(table.values()))) for table in scores.values())])
    place = {tag: slice(*columns[k : k + 2]) for k, tag in enumerate(scores)}
    words = _rows(scores, place, int(columns[-1]), classes=False)
    classes = _rows(scores, place, int(columns[-1]), classes=True)
    tokens = _tag_tokens(np.array(list(classes.values())).reshape(-1, int(columns[-1])))
    shares = {word: tokens * row for word, row in words.items()}
    options = LexiconOptions(known=_KNOWN, frequent=_KNOWN, unknown=_UNKNOWN)
    signature_counts = _class_counts(shares, {name: tokens * row for name, row in classes.items()}, options.rare)
    unseen = sum(signature_counts.values(), np.zeros(int(columns[-1])))
    prior = unseen / unseen.sum() if unseen.any() else np.zeros_like(unseen)
    counts = {word: _counts(row, prior) for word, row in shares.items()}
    total = sum(counts.values(), np.zeros_like(prior))
    factor = total / tokens
    return Words(
        {tag: {word: row[at] for word, row in counts.items() if row[at].any()} for tag, at in place.items()},
        {tag: {name: row[at] for name, row in signature_counts.items()} for tag, at in place.items()},
        SCHEME,
        options,
        {tag: np.diag(factor[at]) for tag, at in place.items()},
    )


def _rows(scores: Scores, place: Mapping[int, slice], columns: int, *, classes: bool) -> dict[str, Floats]:
    """P(w | t_x) of words, or of classes, over all tags side by side."""
    rows: dict[str, Floats] = {}
    for tag, table in scores.items():
        for item, vector in table.items():
            if item.startswith(CLASS) == classes:
                rows.setdefault(item, np.zeros(columns))[place[tag]] = vector
    return rows


def _tag_tokens(classes: Floats) -> Floats:
    """m with sum_t m_t P(w|t) near to one for an unknown word of any class, since such a word counts as one token.

    The multiplicative steps of Richardson and Lucy keep m positive; a column without classes is left at one, and a
    class without any probability has no say.
    """
    tokens, mass = np.ones(classes.shape[1]), classes.sum(0)
    used = mass > 0
    rows = classes[np.ix_(classes.any(1), used)]
    for _ in range(_ROUNDS if len(rows) else 0):
        tokens[used] *= (1 / (rows @ tokens[used])) @ rows / mass[used]
    return tokens


def _class_counts(shares: Mapping[str, Floats], classes: Mapping[str, Floats], rare: int) -> dict[str, Floats]:
    """c_TS: the tag shares of each class, times the tokens of rare words that are of the class."""
    scheme = make_scheme(SCHEME)
    tokens = dict.fromkeys(classes, 1.0)
    for word, row in shares.items():
        name = scheme.signature(word, False, shares.__contains__)
        if row.sum() <= rare and name in tokens:
            tokens[name] += float(row.sum())
    return {name: row * (tokens[name] / row.sum()) for name, row in classes.items() if row.any()}


def _counts(share: Floats, prior: Floats) -> Floats:
    """c_TW such that (c_TW + a p_u) c_W / (c_W + a) is the tag's share, c_W being their sum: a quadratic for c_W."""
    listed = share > 0
    if not listed.any():  # a word that the file gives no probability
        return np.zeros_like(share)
    mass, linear = float(share.sum()), _KNOWN * float(prior[listed].sum()) - float(share.sum())
    count = (-linear + np.sqrt(linear**2 + 4 * _KNOWN * mass)) / 2
    counts: Floats = np.where(listed, np.maximum(share * (count + _KNOWN) / count - _KNOWN * prior, 0.0), 0.0)
    return counts
