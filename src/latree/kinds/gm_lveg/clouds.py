"""Where the uses of each category lie in the space of its subtypes.

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
from latree.inference.forest import L, P
from latree.kinds.gm_lveg.model import GaussianModel
from latree.kinds.report import Figures, best

MOST_OF_IT = 0.9  # of the weight: who has a part in the rest is not told as near, for training has hardly moved it


class Owner(NamedTuple):
    """A rule and the port at which it has a Gaussian; lexical rules are numbered after the grammar's."""

    rule: int
    port: int


class Gaussian(NamedTuple):
    mean: Floats  # [d]
    var: Floats  # [d]


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

    def __getitem__(self, k: int) -> Gaussian:
        return Gaussian(self.mean[k], self.var[k])

    def owner(self, k: int) -> Owner:
        return Owner(int(self.rule[k]), int(self.port[k]))

    def by_weight(self, top: int) -> list[int]:
        """The heaviest Gaussians."""
        heaviest: list[int] = np.argsort(-self.weight, kind="stable")[:top].tolist()
        return heaviest

    # -- owners

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

    def shares_at(self, place: Gaussian) -> Floats:
        """[owners] their shares where a Gaussian lies: by weight times overlap."""
        here = self.total(self.weight * overlaps(*place, self.mean, self.var))
        return here / max(float(here.sum()), 1e-300)

    def nearness(self, place: Gaussian) -> Floats:
        """[owners] how near each is to a Gaussian: the mean over its own, by weight."""
        greatest = np.sqrt(overlaps(*place, *place) * overlaps(self.mean, self.var, self.mean, self.var))
        near = self.total(self.weight * overlaps(*place, self.mean, self.var) / greatest)
        return near / np.maximum(self.shares, 1e-300)

    def heaviest(self, top: int) -> Figures[Owner]:
        """The owners of most weight."""
        return best(self.owners, self.shares, top)

    def typical(self, place: Gaussian, top: int) -> Figures[Owner]:
        """The owners that tell a place apart, with their shares there: common there, and commoner than elsewhere.

        By what each adds to the divergence of the shares there from those in the whole category.
        """
        here = self.shares_at(place)
        gain = here * np.log(np.maximum(here, 1e-300) / np.maximum(self.shares, 1e-300))
        chosen = best(range(len(gain)), gain, top) or best(range(len(here)), here, 1)  # all may be as everywhere
        return sorted(((self.owners[k], float(here[k])) for k, _ in chosen), key=lambda one: -one[1])

    def nearest(self, place: Gaussian) -> Figures[Owner]:
        """Owners by how near they are to a Gaussian, the nearest first: those with most of the weight."""
        order = np.argsort(-self.shares, kind="stable")
        before = np.cumsum(self.shares[order]) - self.shares[order]
        kept, near = order[before < MOST_OF_IT], self.nearness(place)
        kept = kept[np.argsort(-near[kept], kind="stable")]
        return [(self.owners[k], float(near[k])) for k in kept.tolist()]

    # -- regions

    def anchors(self, most: int) -> list[int]:
        """Gaussians that are far apart: the heaviest, then again and again the one with most weight times squared
        distance from those that are taken; fewer where no others are left."""
        picked = [int(np.argmax(self.weight))]
        while len(picked) < most:
            gain = self.weight * self._distances(picked).min(axis=1)
            if not gain.max() > 0:
                break
            picked.append(int(np.argmax(gain)))
        return picked

    def closest(self, picked: list[int]) -> Longs:
        """[gaussians] which of the picked ones has the closest mean."""
        return np.asarray(np.argmin(self._distances(picked), axis=1), np.int64)

    def _distances(self, picked: list[int]) -> Floats:
        """[gaussians, picked] squared, between the means."""
        return np.asarray(((self.mean[:, None] - self.mean[picked]) ** 2).sum(-1), np.float64)


def overlaps(mean: Floats, var: Floats, means: Floats, variances: Floats) -> Floats:
    """Integrals of the product of two Gaussians, N(m1; m2, v1 + v2), of one with many or of each with its fellow."""
    both = var + variances
    log: Floats = -0.5 * ((mean - means) ** 2 / both + np.log(2 * np.pi * both)).sum(-1)
    return np.exp(log)


def principal_axes(centred: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """[2, d] the axes of most variance, and the shares that they have; the second is zero in one dimension."""
    values, vectors = np.linalg.eigh((centred * weight[:, None]).T @ centred)
    axes, shares = np.zeros((2, centred.shape[1])), np.zeros(2)
    for k in range(min(2, len(values))):
        axis = vectors[:, -1 - k]
        axes[k] = axis * np.sign(axis[np.argmax(np.abs(axis))])  # either direction would do: always the same one
        shares[k] = max(values[-1 - k], 0.0) / max(values.sum(), 1e-300)
    return axes, shares


# -- the clouds of a model


class Space(NamedTuple):
    """What lies in the space of a category."""

    rules: Cloud  # the parent's Gaussians of the rules that it becomes
    contexts: Cloud  # the children's Gaussians of the rules that it stands in, by how often those are used
    words: Cloud  # the Gaussians of a tag's lexical rules

    @property
    def components(self) -> Cloud:
        """Rules and words together; only in a tagger does a category have both."""
        names, both = Cloud.__dataclass_fields__, (self.rules, self.words)
        return Cloud(*(np.concatenate([getattr(cloud, name) for cloud in both]) for name in names))


def spaces_of(model: GaussianModel, counts: list[float | None]) -> list[Space]:
    """The space of each category, of which `counts` says how often it occurs."""
    rules, first_tag = model.grammar.rules, model.grammar.first_tag
    rho = np.exp(model.mixtures.log_rho)
    used = _used(model, rho, counts)
    parent = np.append(rules[:, P], first_tag + model.lexical.tag)
    lexical = np.arange(len(parent)) >= len(rules)

    def space(symbol: int) -> Space:
        mine, depth = parent == symbol, model.mixtures.mean.shape[1] if symbol > 0 else 0  # the root has no vector
        child, port = np.nonzero(rules[:, L:] == symbol)
        by_port = np.lexsort((child, port))
        return Space(
            _cloud(model, np.flatnonzero(mine & ~lexical), P, rho, depth),
            _cloud(model, child[by_port], L + port[by_port], used, depth),
            _cloud(model, np.flatnonzero(mine & lexical), P, rho, depth),
        )

    return [space(symbol) for symbol in range(len(model.grammar.symbols))]


def _cloud(model: GaussianModel, rules: Longs, ports: Longs | int, weight: Floats, depth: int) -> Cloud:
    """The Gaussians of some rules at some port each, in so many dimensions."""
    parts, mixtures = model.components, model.mixtures
    size = parts.size[rules]
    component = np.repeat(parts.first[rules] - (np.cumsum(size) - size), size) + np.arange(size.sum())
    port = np.repeat(np.broadcast_to(ports, rules.shape), size)
    slot = parts.slot[component, port]
    share = weight[component] / max(float(weight[component].sum()), 1e-300)
    mean = mixtures.mean[slot]
    var = np.broadcast_to(np.exp(2 * mixtures.log_sd[slot]), mean.shape)
    return Cloud(np.repeat(rules, size), port, share, mean[:, :depth], var[:, :depth])


def _used(model: GaussianModel, rho: Floats, counts: list[float | None]) -> Floats:
    """[components of the grammar's rules] how often each is used: as its parent occurs, by its share in that."""
    rules = model.grammar.rules
    size = model.components.size[: len(rules)]
    parent, rho = np.repeat(rules[:, P], size), rho[: size.sum()]
    share: Floats = rho / np.bincount(parent, rho)[parent]
    occurs = np.array([1.0 if count is None else count for count in counts])  # nothing known: all alike
    ends = np.repeat(rules[:, L] == NONE, size)
    if ends.any() and counts[0] is None:  # sentences of a tagger begin as often as they end
        occurs[0] = (share * occurs[parent])[ends].sum()
    return np.asarray(share * occurs[parent], np.float64)
