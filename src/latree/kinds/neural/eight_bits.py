"""Reading with whole numbers of eight bits, which takes a CPU a fraction of the time of floating point ones.

Weights keep a scale for every row, vectors a scale for every word.  Sums of whole numbers are exact in any order: what
becomes of a word's vector does not depend on the others that it is multiplied together with.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

MOST = 127  # of a whole number of eight bits
_EXACT = (1 << 24) // MOST**2  # products that floating point numbers of 32 bits add up without an error
_LEAST = 1e-30  # of a scale

Module = TypeVar("Module", bound=nn.Module)


def whole_numbers(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The whole numbers next to those of each row, and the row's scale [rows, 1]."""
    scale = rows.abs().amax(1, keepdim=True).clamp_min(_LEAST) / MOST
    return torch.round(rows / scale).to(torch.int8), scale


def product(rows: Tensor, columns: Tensor) -> Tensor:
    """The exact product of matrices of whole numbers, [m, k] and [n, k], as [m, n]."""
    if torch.cpu._is_vnni_supported():
        return torch._int_mm(rows, columns.t())
    parts = zip(rows.float().split(_EXACT, 1), columns.float().split(_EXACT, 1), strict=True)
    return sum((functional.linear(a, b).to(torch.int32) for a, b in parts), torch.zeros((), dtype=torch.int32))


class EightBits(nn.Module):
    """A linear map."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.whole, scale = whole_numbers(weight.detach())
        self.scale, self.bias = scale[:, 0], None if bias is None else bias.detach()

    def forward(self, vectors: Tensor) -> Tensor:
        whole, scale = whole_numbers(vectors.flatten(0, -2))
        made = product(whole, self.whole).float().mul_(scale).mul_(self.scale)
        return (made if self.bias is None else made.add_(self.bias)).unflatten(0, vectors.shape[:-1])


class EightBitLayer(nn.Module):
    """A layer of a transformer whose norms come first, made from torch's own."""

    def __init__(self, layer: nn.TransformerEncoderLayer) -> None:
        super().__init__()
        attention = layer.self_attn
        self.heads, self.norms = attention.num_heads, (layer.norm1, layer.norm2)
        self.enter = EightBits(attention.in_proj_weight, attention.in_proj_bias)
        self.leave = _of(attention.out_proj)
        self.inner = _of(layer.linear1), _of(layer.linear2)

    def forward(self, vectors: Tensor, present: Tensor) -> Tensor:
        """Read vectors [sentences, words, width], of which some are there [sentences, 1, 1, words]."""
        query, key, value = self.enter(self.norms[0](vectors)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, present)
        vectors = vectors + self.leave(seen.transpose(1, 2).flatten(2))
        first, second = self.inner
        added: Tensor = vectors + second(torch.relu(first(self.norms[1](vectors))))
        return added


class EightBitLayers(nn.Module):
    """Some layers, called as torch's own are."""

    def __init__(self, layers: nn.TransformerEncoder) -> None:
        super().__init__()
        self.layers = [EightBitLayer(layer) for layer in layers.layers]

    def forward(self, vectors: Tensor, src_key_padding_mask: Tensor) -> Tensor:
        for layer in self.layers:
            vectors = layer(vectors, ~src_key_padding_mask[:, None, None, :])
        return vectors


def with_eight_bits(module: Module) -> Module:
    """A copy whose linear maps have eight bits; it shares all other weights."""
    made = deepcopy(module, {id(one): one for one in module.parameters()})
    for parent in list(made.modules()):
        for name, child in parent.named_children():
            if type(child) is nn.Linear:
                setattr(parent, name, _of(child))
    return made


def _of(linear: nn.Linear) -> EightBits:
    return EightBits(linear.weight, linear.bias)
