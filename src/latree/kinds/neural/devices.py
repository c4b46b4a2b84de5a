"""Where a network computes, and with how many digits."""

from __future__ import annotations

import torch

from latree.errors import LatreeError


def device_named(name: str) -> torch.device:
    """The device of this name, where there is one."""
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise LatreeError(f"--device {name}: not to be had here: {str(error).splitlines()[0]}") from None


def has_half(device: torch.device) -> bool:
    """Whether a device computes faster with half the digits."""
    return device.type == "cuda" or (device.type == "cpu" and bool(torch.cpu._is_avx512_bf16_supported()))
