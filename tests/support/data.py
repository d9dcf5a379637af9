"""The corpora in tests/data: TOML files, read into typed objects."""

import tomllib
from typing import TypeVar

import msgspec

from support.paths import TESTS

DATA = TESTS / "data"
Loaded = TypeVar("Loaded")


def load(name: str, kind: type[Loaded]) -> Loaded:
    """Return the file `name` of tests/data as `kind`; raise ValidationError if it does not fit."""
    with (DATA / name).open("rb") as file:
        return msgspec.convert(tomllib.load(file), kind)
