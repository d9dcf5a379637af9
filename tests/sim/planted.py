"""The faults that are planted, one at a time: each broken in its own way, in words that occur exactly once."""

from __future__ import annotations

import msgspec
from support.data import load


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is broken, where, and how: the old words occur exactly once in the file."""

    name: str
    file: str
    old: str
    new: str
    served: bool = False
    """Whether worlds with workers on a PostgreSQL server are to show it."""


class Faults(msgspec.Struct, forbid_unknown_fields=True):
    """The file of faults."""

    fault: list[Fault]


FAULTS = load("planted_faults.toml", Faults).fault
