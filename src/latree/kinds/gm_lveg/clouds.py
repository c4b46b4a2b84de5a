"""What a Gaussian-mixture model has learned: where the uses of each category lie in the space of its subtypes.

Every category has a space of its own.  In it lie the Gaussians of the rules that it becomes, of the rules that it
stands in (its contexts) and, for a tag, of its words.  There are no subtypes to list, but there are regions: around a
few components far from each other, what does the category become there, and where does it stand?

At a component g the weight of another Gaussian is rho times its overlap with g, the integral of the product of the two.
Of all rules, contexts or words this makes shares, to be held against those that they have in the category as a whole.
How near two Gaussians are, whatever their weight and width, is their overlap divided by its greatest possible value: 1
where both are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.inference.forest import L, P, R
from latree.kinds.gm_lveg.model import GaussianModel
from latree.kinds.report import Categories, best

REGIONS = 6
MOST_OF_IT = 0.9  # of the weight: who has a part in the rest is not told as near, for training has hardly moved it


class Owner(NamedTuple):
    """A rule and the port at which it has a Gaussian; lexical rules are numbered after the grammar's."""

    rule: int
    port: int


Figures = list[tuple[Owner, float]]  # owners with a share, or with how near they are to a component


class Component(NamedTuple):
    """One Gaussian of a category, with its share among the rules', or the words', components."""

    owner: Owner
    share: float
    mean: Floats  # [d]
    sd: Floats  # [d]


@dataclass(frozen=True, eq=False)
class Cloud:
    """Gaussians in one category's space; without a latent vector d is 0, and all lie at the same place."""

    rule: Longs  # [gaussians]
    port: Longs
    weight: Floats  # sums to one; rules and words together, to one for each kind
    mean: Floats  # [gaussians, d]
    var: Floats  # [gaussians, d]

    def __len__(self) -> int:
        return len(self.rule)

    def __getitem__(self, k: int) -> Component:
        owner = Owner(int(self.rule[k]), int(self.port[k]))
        return Component(owner, float(self.weight[k]), self.mean[k], np.sqrt(self.var[k]))

    @cached_property
    def _owned(self) -> tuple[list[Owner], Longs]:
        """All owners, and which of them has each Gaussian."""
        pairs, number = np.unique(np.stack([self.rule, self.port]), axis=1, return_inverse=True)
        return [Owner(*pair) for pair in pairs.T.tolist()], number.reshape(-1)

    @property
    def owners(self) -> list[Owner]:
        return self._owned[0]

    def total(self, values: Floats) -> Floats:
        """[owners] the sum over the Gaussians of each."""
        return np.bincount(self._owned[1], values, len(self.owners)).astype(np.float64)

    @cached_property
    def shares(self) -> Floats:
        """[owners]"""
        return self.total(self.weight)

    def shares_at(self, place: Component) -> Floats:
        """[owners] their shares where a component lies: by weight times overlap."""
        here = self.total(self.weight * overlaps(place.mean, place.sd**2, self.mean, self.var))
        return here / max(float(here.sum()), 1e-300)

    def nearness(self, place: Component) -> Floats:
        """[owners] how near each is to a component: the mean over its Gaussians, by weight."""
        var = place.sd**2
        greatest = np.sqrt(
            overlaps(place.mean, var, place.mean, var) * overlaps(self.mean, self.var, self.mean, self.var)
        )
        found = self.total(self.weight * overlaps(place.mean, var, self.mean, self.var) / greatest)
        return found / np.maximum(self.shares, 1e-300)

    def heaviest(self, top: int) -> Figures:
        """The owners of most weight."""
        return best(self.owners, self.shares, top)

    def typical(self, place: Component, top: int) -> Figures:
        """The owners that tell a place apart, with their shares there: common there, and commoner than elsewhere.

        By what each adds to the divergence of the shares there from those in the whole category.
        """
        here = self.shares_at(place)
        gain = here * np.log(np.maximum(here, 1e-300) / np.maximum(self.shares, 1e-300))
        chosen = best(range(len(gain)), gain, top) or best(range(len(here)), here, 1)  # all may be as everywhere
        return sorted(((self.owners[k], float(here[k])) for k, _ in chosen), key=lambda one: -one[1])

    def nearest(self, place: Component) -> Figures:
        """Owners by how near they are to a component, the nearest first: those with most of the weight."""
        order = np.argsort(-self.shares, kind="stable")
        before = np.cumsum(self.shares[order]) - self.shares[order]
        kept, near = order[before < MOST_OF_IT], self.nearness(place)
        kept = kept[np.argsort(-near[kept], kind="stable")]
        return [(self.owners[k], float(near[k])) for k in kept.tolist()]


def overlaps(mean: Floats, var: Floats, means: Floats, variances: Floats) -> Floats:
    """Integrals of the product of two Gaussians, N(m1; m2, v1 + v2), of one with many or of each with its fellow."""
    both = var + variances
    log: Floats = -0.5 * ((mean - means) ** 2 / both + np.log(2 * np.pi * both)).sum(-1)
    return np.exp(log)


@dataclass(frozen=True)
class Region:
    """The surroundings of one component."""

    number: int
    anchor: Component
    share: float  # of the category's weight that is nearer to this anchor than to the others
    rules: Figures
    contexts: Figures
    words: Figures
    nearest: Figures  # of all three, without the anchor's


@dataclass(frozen=True)
class Map:
    """A category's heaviest components, heaviest first, on the two axes along which their means differ most."""

    components: list[Component]
    place: Floats  # [components, 2]
    spread: Floats  # [components] standard deviations, as they are in this plane
    region: list[int]  # of each component
    anchors: Floats  # [regions, 2]
    explained: tuple[float, float]  # the shares of the means' variance that the axes have


class Spaces:
    """The facts of one model: each category's space, with the Gaussians that lie there."""

    def __init__(self, model: GaussianModel) -> None:
        self.model, self.grammar, self.lexical = model, model.grammar, model.lexical
        self.names = Categories(model.pruner)  # the same categories and words; it knows how often they occur
        self.units = model.lexical.named_units()
        self._clouds: dict[int, tuple[Cloud, Cloud, Cloud]] = {}

    @property
    def dimension(self) -> int:
        return int(self.model.mixtures.mean.shape[1])

    # -- categories

    def size(self, symbol: int) -> int:
        """How many components a category has."""
        return len(self.rules(symbol)) + len(self.words(symbol))

    def has_vector(self, symbol: int) -> bool:
        """Only the root has none."""
        return symbol > 0

    # -- clouds

    def rules(self, symbol: int) -> Cloud:
        """The parent's Gaussians of the rules that a category becomes."""
        return self._three(symbol)[0]

    def contexts(self, symbol: int) -> Cloud:
        """The children's Gaussians of the rules that it stands in, by how often those are used."""
        return self._three(symbol)[1]

    def words(self, symbol: int) -> Cloud:
        """The Gaussians of a tag's lexical rules."""
        return self._three(symbol)[2]

    def components(self, symbol: int) -> Cloud:
        """Rules and words together; only in a tagger does a category have both."""
        kinds = [cloud for cloud in (self.rules(symbol), self.words(symbol)) if len(cloud)]
        return _together(kinds) if kinds else self.rules(symbol)

    def _three(self, symbol: int) -> tuple[Cloud, Cloud, Cloud]:
        if symbol not in self._clouds:
            rules, tag = self.grammar.rules, symbol - self.grammar.first_tag
            lexical = np.flatnonzero(self.lexical.tag == tag) + len(rules)
            sides = [(np.flatnonzero(rules[:, port] == symbol), port) for port in (L, R)]
            self._clouds[symbol] = (
                self._cloud(symbol, [(np.flatnonzero(rules[:, P] == symbol), P)], self._rho),
                self._cloud(symbol, sides, self._used),
                self._cloud(symbol, [(lexical, P)], self._rho),
            )
        return self._clouds[symbol]

    def _cloud(self, symbol: int, sides: list[tuple[Longs, int]], weight: Floats) -> Cloud:
        """The Gaussians of some rules at some port each."""
        parts, mixtures = self.model.components, self.model.mixtures
        rules = np.concatenate([rules for rules, _ in sides])
        ports = np.concatenate([np.full(len(rules), port) for rules, port in sides])
        size = parts.size[rules]
        component = np.repeat(parts.first[rules] - (np.cumsum(size) - size), size) + np.arange(size.sum())
        slot, depth = parts.slot[component, np.repeat(ports, size)], self.dimension if self.has_vector(symbol) else 0
        var = np.broadcast_to(np.exp(2 * mixtures.log_sd[slot]), (len(slot), self.dimension))
        share = weight[component] / max(float(weight[component].sum()), 1e-300)
        mean = mixtures.mean[slot][:, :depth]
        return Cloud(np.repeat(rules, size), np.repeat(ports, size), share, mean, var[:, :depth])

    # -- weights

    @cached_property
    def _rho(self) -> Floats:
        return np.exp(self.model.mixtures.log_rho)

    @cached_property
    def _used(self) -> Floats:
        """[components of the grammar's rules] how often each is used: as its parent occurs, by its share in that."""
        rules, size = self.grammar.rules, self.model.components.size[: len(self.grammar.rules)]
        parent, rho = np.repeat(rules[:, P], size), self._rho[: size.sum()]
        share: Floats = rho / np.bincount(parent, rho)[parent]
        counts = [self.names.count(symbol) for symbol in range(len(self.grammar.symbols))]
        occurs = np.array([1.0 if count is None else count for count in counts])  # nothing known: all alike
        if self.names.is_tagger and counts[0] is None:  # sentences begin as often as they end
            occurs[0] = (share * occurs[parent])[np.repeat(rules[:, L] == NONE, size)].sum()
        used: Floats = share * occurs[parent]
        return used

    # -- regions

    def regions(self, symbol: int, top: int) -> list[Region]:
        """A category's space by a few of its components; none where there is no space."""
        if not self.has_vector(symbol) or not self.size(symbol):
            return []
        cloud = self.components(symbol)
        picked = anchors(cloud, REGIONS)
        share = np.bincount(closest(cloud, picked), cloud.weight, len(picked)) / cloud.weight.sum()
        return [self._region(symbol, k, cloud[one], float(share[k]), top) for k, one in enumerate(picked)]

    def _region(self, symbol: int, number: int, anchor: Component, share: float, top: int) -> Region:
        clouds = self._three(symbol)
        rules, contexts, words = (cloud.typical(anchor, top) for cloud in clouds)
        near = [one for cloud in clouds for one in cloud.nearest(anchor) if one[0] != anchor.owner]
        near.sort(key=lambda one: -one[1])
        return Region(number, anchor, share, rules, contexts, words, near[:top])

    def plan(self, symbol: int, most: int) -> Map:
        """The heaviest components of a category that has a vector, on a plane."""
        cloud = self.components(symbol)
        picked = anchors(cloud, REGIONS)
        centred = cloud.mean - np.average(cloud.mean, axis=0, weights=cloud.weight)
        axes, explained = principal_axes(centred, cloud.weight)
        order = np.argsort(-cloud.weight, kind="stable")[:most]
        spread = np.sqrt((cloud.var @ axes.T**2).sum(axis=1) / (axes**2).sum())
        place, region = centred @ axes.T, closest(cloud, picked)[order].tolist()
        drawn = [cloud[k] for k in order.tolist()]
        return Map(drawn, place[order], spread[order], region, place[picked], explained)

    # -- names

    def word(self, owner: Owner) -> str | None:
        """The word of a lexical rule, or its class; None of other rules."""
        lexical = owner.rule - len(self.grammar.rules)
        if lexical < 0:
            return None
        word, name = self.units[self.lexical.unit[lexical]]
        return word if word is not None else "(any other)" if name is None else f"(class {name})"

    def children(self, owner: Owner) -> list[int]:
        """The symbols on the right of a rule of the grammar."""
        return [int(symbol) for symbol in self.grammar.rules[owner.rule, L:] if symbol != NONE]

    def right_side(self, owner: Owner) -> str:
        """What a category becomes by a rule, or the word."""
        word = self.word(owner)
        return word if word is not None else " ".join(map(self.names.name, self.children(owner))) or "(end)"


def _together(clouds: list[Cloud]) -> Cloud:
    names = ("rule", "port", "weight", "mean", "var")
    return Cloud(**{name: np.concatenate([getattr(one, name) for one in clouds]) for name in names})


def anchors(cloud: Cloud, most: int) -> list[int]:
    """Components that are far apart: the heaviest, then again and again the one with most weight times squared distance
    from those that are taken; fewer where no others are left."""
    picked = [int(np.argmax(cloud.weight))]
    while len(picked) < most:
        gain = cloud.weight * _distances(cloud, picked).min(axis=1)
        if not gain.max() > 0:
            break
        picked.append(int(np.argmax(gain)))
    return picked


def closest(cloud: Cloud, picked: list[int]) -> Longs:
    """[gaussians] which of the picked ones has the closest mean."""
    found: Longs = np.argmin(_distances(cloud, picked), axis=1)
    return found


def _distances(cloud: Cloud, picked: list[int]) -> Floats:
    """[gaussians, picked] squared, between the means."""
    found: Floats = ((cloud.mean[:, None] - cloud.mean[picked]) ** 2).sum(-1)
    return found


def principal_axes(centred: Floats, weight: Floats) -> tuple[Floats, tuple[float, float]]:
    """[2, d] the axes of most variance, and the shares that they have; the second is zero in one dimension."""
    values, vectors = np.linalg.eigh((centred * weight[:, None]).T @ centred)
    axes, shares = np.zeros((2, centred.shape[1])), [0.0, 0.0]
    for k in range(min(2, len(values))):
        axis = vectors[:, -1 - k]
        axes[k] = axis * np.sign(axis[np.argmax(np.abs(axis))])  # either direction would do: always the same one
        shares[k] = float(max(values[-1 - k], 0.0) / max(values.sum(), 1e-300))
    return axes, (shares[0], shares[1])
