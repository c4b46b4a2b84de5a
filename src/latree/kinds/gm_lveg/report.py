"""The report on a Gaussian-mixture model: of each category a map, and what lies in its regions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from latree.arrays import Floats
from latree.inference.forest import L, P
from latree.kinds.gm_lveg.clouds import Cloud, Gaussian, Owner, Space, principal_axes, spaces_of
from latree.kinds.gm_lveg.model import GaussianModel
from latree.kinds.report import WORD, Ask, Facts, Figures, ModelReport, figures, flow, listed, place_of, unit_name
from latree.report.value import Block, Cell, Column, Dot, Inline, Mark, Report, Scatter, Section, Table, legible, plain

REGIONS = 6
DRAWN = 250  # components of a map at most
RADIUS = 0.15  # of a standard deviation: circles of a whole one would hide each other


class Mixtures(ModelReport[GaussianModel]):
    """The report on one model."""

    measure = "components"
    no_sums = "latent vectors"
    footer = (
        "A circle is a component: a Gaussian of a rule or of a word, in the plane of the two axes along which the "
        f"means of its category differ most. Its radius is {RADIUS} of the standard deviation, and the heavier it is, "
        "the darker. Colours are regions: each component belongs to the nearest of a few that lie far apart. A region "
        "lists what is commoner there than in the category as a whole, with its share there, and what overlaps most "
        "with the component in its middle: 1 would be the same Gaussian."
    )

    @cached_property
    def spaces(self) -> list[Space]:
        """[symbols]"""
        return spaces_of(self.model, [self.count(symbol) for symbol in range(len(self.grammar.symbols))])

    def size(self, symbol: int) -> int:
        """How many components a category has."""
        return len(self.spaces[symbol].components)

    def own_facts(self) -> Facts:
        """Count dimensions and components."""
        size, rules = self.model.components.size, len(self.grammar.rules)
        count = f"{size[:rules].sum()} of {rules} rules, {size[rules:].sum()} of {len(size) - rules} lexical rules"
        yield "dimension", str(self.model.mixtures.mean.shape[1])
        yield "covariance", self.model.options.covariance
        yield "components", count
        yield "pruner", self.model.pruner.kind

    def describe(self, symbol: int) -> tuple[Cell, ...]:
        """List the heaviest words and rules."""
        space = self.spaces[symbol]
        heaviest = (cloud.heaviest(self.ask.top) for cloud in (space.words, space.rules) if len(cloud))
        return (" | ".join(listed(((self.short_name(owner), share) for owner, share in one), 60) for one in heaviest),)

    # -- a category

    def section(self, symbol: int) -> Section:
        """Tell of the whole space, and of its regions; the root has no vector, hence neither."""
        space, top = self.spaces[symbol], self.ask.top
        cloud = space.components
        picked = cloud.anchors(REGIONS) if symbol and len(cloud) else []
        share = np.bincount(cloud.closest(picked), cloud.weight) / cloud.weight.sum() if picked else []
        return Section(
            self.name(symbol),
            place_of(symbol),
            self.about(symbol, f"{len(cloud)} components", "" if symbol else "no latent vector"),
            (
                *flow(self._named(space.words.heaviest(top)), "words"),
                *flow(self._named(space.rules.heaviest(top)), "rules"),
                *([self._heaviest(space), self._map(symbol, cloud, picked)] if picked else []),
            ),
            tuple(self._card(symbol, k, cloud, one, float(share[k])) for k, one in enumerate(picked)),
        )

    def _heaviest(self, space: Space) -> Block:
        clouds = ((cloud, k) for cloud in (space.rules, space.words) for k in cloud.by_weight(self.ask.top))
        rows = ((self.owner_name(cloud.owner(k)), float(cloud.weight[k]), at(cloud[k])) for cloud, k in clouds)
        columns = (Column(), Column(pattern="{:.1%}", kind="figure"), Column())
        return Table(columns, tuple(rows), "heaviest components")

    def _card(self, symbol: int, number: int, cloud: Cloud, anchor: int, share: float) -> Section:
        """A region: what is typical around a component, and what is nearest to it."""
        place, owner, space = cloud[anchor], cloud.owner(anchor), self.spaces[symbol]
        rules, contexts, words = (self._named(one.typical(place, self.ask.top)) for one in space)
        near = [one for part in space for one in part.nearest(place) if one[0] != owner]
        near.sort(key=lambda one: -one[1])
        names = ("comes before", "comes after") if self.is_tagger and len(space.words) else ("becomes", "stands in")
        return Section(
            f"region {number + 1}, around {plain(self.owner_name(owner))}",
            place_of(symbol, number),
            f"{share:.1%}, {at(place)}",
            (
                *flow(words, "words"),
                *figures(names[0], rules),
                *figures(names[1], contexts),
                *figures("nearest by overlap", self._named(near[: self.ask.top])),
            ),
            share=share,
            colour=number,
        )

    def _map(self, symbol: int, cloud: Cloud, picked: list[int]) -> Scatter:
        """The heaviest components, on the two axes along which the means differ most."""
        centred = cloud.mean - np.average(cloud.mean, axis=0, weights=cloud.weight)
        axes, explained = principal_axes(centred, cloud.weight)
        place: list[tuple[float, float]] = [(x, y) for x, y in (centred @ axes.T).tolist()]
        region = cloud.closest(picked).tolist()
        radius = RADIUS * np.sqrt((cloud.var @ axes.T**2).sum(axis=1) / (axes**2).sum())  # as it is in this plane
        drawn, size = cloud.by_weight(DRAWN), len(cloud)
        which = f"The heaviest {len(drawn)} of {size} components" if len(drawn) < size else f"All {size} components"
        dots = (
            Dot(*place[k], region[k], self._tip(cloud, k), self.short_name(cloud.owner(k)), float(radius[k]), weight)
            for k, weight in zip(drawn, cloud.weight[drawn].tolist(), strict=True)
        )
        return Scatter(
            f"Where the components of {self.name(symbol)} lie",
            tuple(dots),
            tuple(Mark(*place[one], f"{k + 1}", place_of(symbol, k)) for k, one in enumerate(picked)),
            caption=f"{which}; across: {explained[0]:.0%} of the variance of the means, upwards: {explained[1]:.0%}",
        )

    def _tip(self, cloud: Cloud, k: int) -> str:
        return f"{legible(plain(self.owner_name(cloud.owner(k))), 60)}, {cloud.weight[k]:.2%}, {at(cloud[k])}"

    # -- names

    def _named(self, owners: Figures[Owner]) -> Iterable[tuple[Inline, float]]:
        return ((self.owner_name(owner), figure) for owner, figure in owners)

    def owner_name(self, owner: Owner) -> Inline:
        """The word, or the rule, in which the category is strong where it is a child."""
        if owner.rule >= len(self.grammar.rules):
            return legible(self.short_name(owner), WORD)
        if owner.port != P:
            return self.rule(owner.rule, owner.port - L)
        return ("-> ", *self.right_side((child, None) for child in self.children(owner.rule)))

    def short_name(self, owner: Owner) -> str:
        """The word, or its class; or what a category becomes by a rule."""
        lexical = owner.rule - len(self.grammar.rules)
        if lexical < 0:
            return " ".join(map(self.name, self.children(owner.rule))) or "(end)"
        return unit_name(*self._units[self.model.lexical.unit[lexical]])

    @cached_property
    def _units(self) -> list[tuple[str | None, str | None]]:
        return self.model.lexical.named_units()


def at(place: Gaussian) -> str:
    """Where a Gaussian lies, and how wide it is: one number where it is as wide in all directions."""
    sd = np.sqrt(place.var)
    return f"at {_numbers(place.mean)}, sd {_numbers(sd[:1] if np.ptp(sd) == 0 else sd)}"


def _numbers(values: Floats) -> str:
    written = ", ".join(f"{value:.2f}" for value in values.tolist())
    return written if len(values) == 1 else f"({written})"


def report(model: GaussianModel, ask: Ask) -> Report:
    """Build the report on a Gaussian-mixture model."""
    return Mixtures(model, ask).report()
