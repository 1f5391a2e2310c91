# SPDX-License-Identifier: MIT
"""Chips, by what people call them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .errors import InputError

# Compute capabilities of data-center and workstation GPUs.
_NAMES = {
    "a100": 80,
    "a30": 80,
    "a10": 86,
    "a40": 86,
    "a6000": 86,
    "rtx3090": 86,
    "l4": 89,
    "l40": 89,
    "l40s": 89,
    "rtx4090": 89,
    "h20": 90,
    "h100": 90,
    "h200": 90,
    "gh200": 90,
    "b200": 100,
    "gb200": 100,
    "b300": 103,
    "gb300": 103,
    "rtx5090": 120,
}


@dataclass(frozen=True)
class Chip:
    """A chip by its compute capability: 90 for 9.0."""

    sm: int

    @property
    def target(self) -> int | str:
        """As a manifest's ``targets`` name it; wgmma and tcgen05 are of one chip alone."""
        return f"{self.sm}a" if 90 <= self.sm < 120 else self.sm

    def unit_of(self, format: str) -> str:
        """What usually adds products of a format on this chip."""
        if format == "f32":
            return "fma.f32"
        if self.sm == 90:
            return "wgmma"
        return "tcgen05" if 100 <= self.sm < 120 else "mma.sync"

    def __str__(self) -> str:
        return f"sm_{self.sm}"


def chip_named(name: str | int) -> Chip:
    """The chip of "h200", "sm_90", "sm_90a", "9.0" or 90."""
    if isinstance(name, int) and not isinstance(name, bool):
        if not 50 <= name < 1000:
            raise InputError(f"chip={name}: a compute capability has two or three digits: 90")
        return Chip(name)
    text = re.sub(r"[\s_-]|nvidia|geforce", "", str(name).lower())
    if text in _NAMES:
        return Chip(_NAMES[text])
    match = re.fullmatch(r"(?:sm|compute)?(\d{2,3})[af]?|(\d{1,2})\.(\d)", text)
    if match:
        return Chip(int(match[1] or f"{match[2]}{match[3]}"))
    raise InputError(f'chip={name!r} is not known: "sm_90", 90 or one of {", ".join(_NAMES)}')
