"""Gaussian mixtures as the paper has them, equal Gaussians kept apart: a reference, for short sentences.

Whatever the children of A -> B C send, the parent hears Gaussians of the rule's own (`slots`).  `sweeps` has one
coefficient for each of these; here every way that leads to one is a component of its own, as in the equations 6 and 7
of Zhao, Zhang & Tu (2018), where mixtures are multiplied out.  As long as all components are kept the sums are the
same.  They are not once mixtures are cut to their heaviest components (section 3.2): then it counts how much weight a
component has by itself, and here that weight is dealt out to many.  How many:

    all     a component for each component of the rule and each of both children's: K_r k_B k_C for an edge, as eqn 6
            reads.  Their numbers explode with the depth, and are bounded by the limit alone.
    edges   the children's are summed first: K_r for an edge, as the authors' program does it, and as the running time
            that the paper gives (appendix C) and its experiment without any limit (figure 2) require.

Everything is plain numpy, an edge at a time, in logarithms; it is slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE, Floats, Ints, Longs
from latree.inference.forest import PASS, Forest, L, P, R
from latree.inference.gaussian.limits import NO_LIMIT, ComponentLimit, how_many_kept
from latree.inference.gaussian.mixtures import Components, Mixtures, zeros_like
from latree.inference.gaussian.slots import ABSENT, global_rules
from latree.inference.gaussian.sweeps import GaussianInference
from latree.inference.potentials import NO_POTENTIALS, Potentials

Apart = Literal["edges", "all"]


class UnmergedForest(NamedTuple):
    """A forest whose edges know their rules, lexical ones too."""

    forest: Forest
    rule: Ints  # [edges] PASS, ABSENT, or a rule, lexical ones numbered after the grammar's
    apart: Apart

    @property
    def edges(self) -> int:
        return len(self.rule)


def unmerged_forest(forest: Forest, entry_rule: Longs, apart: Apart) -> UnmergedForest:
    """View a forest by its rules; `entry_rule` is as for `slot_forest`."""
    if np.any((forest.rule >= forest.rules) & (forest.ends[:, L] >= 0)):
        raise ValueError("unmerged mixtures are for trees, not for lattices of tags")
    return UnmergedForest(forest, global_rules(forest, entry_rule), apart)


def unmerged_infer(
    seen: UnmergedForest,
    components: Components,
    weights: Mixtures,
    stats: Mixtures | None = None,
    limit: ComponentLimit = NO_LIMIT,
    potentials: Potentials = NO_POTENTIALS,
) -> GaussianInference:
    """Inside and outside scores as mixtures, each cut by the limit; the gradient is added to `stats`."""
    stats = zeros_like(weights) if stats is None else stats
    sweep = _Sweep(seen, components, weights, limit, potentials)
    log_z = sweep.up()
    return GaussianInference(log_z, sweep.down(log_z, stats), stats)


def unmerged_log_z(
    seen: UnmergedForest,
    components: Components,
    weights: Mixtures,
    limit: ComponentLimit = NO_LIMIT,
    potentials: Potentials = NO_POTENTIALS,
) -> Floats:
    """log Z of every sentence."""
    return _Sweep(seen, components, weights, limit, potentials).up()


class _Message(NamedTuple):
    """A mixture of Gaussians that each integrate to one."""

    slot: Longs  # [components] whose Gaussian each has; NONE for the root, which has no latent vector
    log_weight: Floats  # [components]

    @classmethod
    def joined(cls, parts: Sequence[_Message]) -> _Message:
        slots, log_weights = ([part[k] for part in parts] for k in range(2))
        return cls(np.concatenate([np.zeros(0, np.int64), *slots]), np.concatenate([np.zeros(0), *log_weights]))

    def cut(self, limit: ComponentLimit) -> _Message:
        """Keep only the heaviest components."""
        count = len(self.slot)
        kept = count if limit.k_max == 0 else how_many_kept(count, limit)
        if kept == count:
            return self
        heaviest = np.argsort(-self.log_weight, kind="stable")[:kept]
        return _Message(self.slot[heaviest], self.log_weight[heaviest])


class _Edge(NamedTuple):
    """A rule over a span."""

    components: slice  # of the rule
    log_rho: Floats  # [K], the edge's potential in it
    ports: list[int]  # those that have a latent vector


class _Sweep:
    """Messages of all items, first from below and then from above."""

    def __init__(
        self,
        seen: UnmergedForest,
        components: Components,
        weights: Mixtures,
        limit: ComponentLimit,
        potentials: Potentials,
    ) -> None:
        self.forest, self.rule, self.apart = seen
        self.components, self.weights, self.limit = components, weights, limit
        self.variance = np.broadcast_to(np.exp(2 * weights.log_sd), weights.mean.shape)
        self.log_factor = _log_factors(self.forest, potentials)
        ends, order = self.forest.ends[:, P], np.argsort(self.forest.ends[:, P], kind="stable")
        self.edges = np.split(order, np.searchsorted(ends[order], np.arange(1, len(self.forest.symbol))))
        self.inside: list[_Message] = []  # whole
        self.heard: list[list[_Message]] = [[] for _ in self.forest.symbol]  # from above, whole

    def up(self) -> Floats:
        """Make the inside scores, children first; log Z of every sentence."""
        self.read: list[_Message] = []  # inside scores as rules above read them
        for item in range(len(self.forest.symbol)):
            whole = _Message.joined([self._made_by(int(e)) for e in self.edges[item]])
            self.inside.append(whole)
            self.read.append(whole.cut(self.limit) if self.forest.symbol[item] != 0 else whole)
        return np.array([-np.inf if k < 0 else _log_sum(self.inside[k].log_weight) for k in self.forest.root.tolist()])

    def down(self, log_z: Floats, stats: Mixtures) -> Floats:
        """Make the outside scores, parents first; posteriors of the edges."""
        posterior = np.zeros(len(self.rule))
        for root, total in zip(self.forest.root.tolist(), log_z.tolist(), strict=True):
            if np.isfinite(total):
                self.heard[root].append(_Message(np.array([NONE]), np.array([-total])))
        for item in reversed(range(len(self.forest.symbol))):
            whole = _Message.joined(self.heard[item])
            above = whole.cut(self.limit)
            for e in self.edges[item].tolist() if len(whole.slot) else ():
                if self.rule[e] == PASS:
                    self.heard[int(self.forest.ends[e, L])].append(_weighed(whole, self.log_factor[e]))
                else:
                    posterior[e] = self._tell(e, above, stats)
        return posterior

    def _made_by(self, e: int) -> _Message:
        """What an edge adds to the inside score of its parent: eqn 6 without the sums."""
        if self.rule[e] == PASS:
            return _weighed(self.inside[self.forest.ends[e, L]], self.log_factor[e])
        edge = self._edge(e)
        children = [port for port in edge.ports if port != P]
        readings = [self._reading(edge, port, self.read[self.forest.ends[e, port]]) for port in children]
        return self._product(edge, P, readings)

    def _tell(self, e: int, above: _Message, stats: Mixtures) -> float:
        """Tell an edge's children what they hear from it (eqn 7), add to the gradient; the edge's posterior (eqn 8)."""
        edge = self._edge(e)
        met = {P: above} | {port: self.read[self.forest.ends[e, port]] for port in edge.ports if port != P}
        readings = {port: self._reading(edge, port, message) for port, message in met.items()}
        for port in edge.ports:
            if port != P:
                others = [reading for other, reading in readings.items() if other != port]
                self.heard[self.forest.ends[e, port]].append(self._product(edge, port, others))
        log_share = edge.log_rho + sum(np.logaddexp.reduce(one, axis=1) for one in readings.values())
        if len(stats.log_rho) and np.any(log_share > -np.inf):
            stats.log_rho[edge.components] += np.exp(log_share)
            for port in edge.ports:
                rest = log_share - np.logaddexp.reduce(readings[port], axis=1)
                self._differentiate(edge, port, met[port].slot, np.exp(rest[:, None] + readings[port]), stats)
        return float(np.exp(_log_sum(log_share)))

    def _edge(self, e: int) -> _Edge:
        rule = int(self.rule[e])
        if rule == ABSENT:
            return _Edge(slice(0, 0), np.zeros(0), [])
        parts = slice(int(self.components.first[rule]), int(self.components.first[rule + 1]))
        slots = self.components.slot[parts.start]
        log_rho = self.weights.log_rho[parts] + self.log_factor[e]
        return _Edge(parts, log_rho, [port for port in (P, L, R) if slots[port] != NONE])

    def _reading(self, edge: _Edge, port: int, message: _Message) -> Floats:
        """[K, components] log of each component of a message, integrated over with each Gaussian of a rule's port."""
        if port not in edge.ports:  # the root's
            return np.broadcast_to(message.log_weight, (len(edge.log_rho), len(message.slot)))
        mean, both = self._meeting(edge, port, message.slot)
        log_overlap = -0.5 * (mean**2 / both + np.log(2 * np.pi * both)).sum(-1)
        return np.asarray(log_overlap + message.log_weight, np.float64)

    def _meeting(self, edge: _Edge, port: int, slots: Longs) -> tuple[Floats, Floats]:
        """[K, components, d] the distance of means and the sum of variances."""
        mine, mean = self.components.slot[edge.components, port], self.weights.mean
        return mean[slots] - mean[mine][:, None], self.variance[mine][:, None] + self.variance[slots]

    def _product(self, edge: _Edge, port: int, readings: Sequence[Floats]) -> _Message:
        """The message to a port of a rule: every choice of what was read at the others, or its sum."""
        log_weight = edge.log_rho[:, None]
        for reading in readings:
            if self.apart == "edges":
                reading = np.logaddexp.reduce(reading, axis=1)[:, None]
            log_weight = (log_weight[:, :, None] + reading[:, None, :]).reshape(len(log_weight), -1)
        slot = self.components.slot[edge.components, port].astype(np.int64)
        return _Message(np.repeat(slot, log_weight.shape[1]), log_weight.ravel())

    def _differentiate(self, edge: _Edge, port: int, slots: Longs, share: Floats, stats: Mixtures) -> None:
        """Add the slopes of the Gaussians at a port of a rule; `share` is the posterior of each meeting."""
        distance, both = self._meeting(edge, port, slots)
        mine = self.components.slot[edge.components, port]
        by_mean = (share[:, :, None] * distance / both).sum(1)
        by_sd = (share[:, :, None] * (distance**2 / both - 1) / both).sum(1) * self.variance[mine]
        stats.mean[mine] += by_mean
        stats.log_sd[mine] += by_sd if stats.log_sd.shape[1] == by_sd.shape[1] else by_sd.sum(1, keepdims=True)


def _log_sum(log_weight: Floats) -> float:
    return float(np.logaddexp.reduce(log_weight, initial=-np.inf))


def _weighed(message: _Message, log_factor: float) -> _Message:
    return message._replace(log_weight=message.log_weight + log_factor)


def _log_factors(forest: Forest, potentials: Potentials) -> Floats:
    """[edges] the potential of each edge and of the item that it makes."""
    edge = potentials.edge if len(potentials.edge) else np.zeros(len(forest.rule))
    item: NDArray[np.float64] = potentials.item if len(potentials.item) else np.zeros(len(forest.symbol))
    return np.asarray(edge + item[forest.ends[:, P]], np.float64)
