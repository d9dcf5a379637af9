"""Checks before a turn that its model takes the attachments and has a price; hints at trust if a project names it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from bridle.core.agent import ModelInfo
from bridle.core.messages import Attachment
from bridle.core.parts import File
from bridle.errors import ConfigError


def check_files(info: ModelInfo, files: Sequence[File]) -> None:
    """Raise `ConfigError` if the model does not accept the type of an attachment."""
    for file in files:
        sort = Attachment(file.path, file.media, file.data).sort
        if file.data and sort not in info.takes:
            seen = " and ".join(sorted(info.takes)) or "only text"
            raise ConfigError(
                f"{file.path}: {info.ref} does not accept {sort} files (it accepts {seen}); name another model, "
                f'or set [models."{info.ref}"] takes = ["{sort}"] if it does accept them'
            )


def need_prices(infos: Iterable[ModelInfo]) -> None:
    """Raise `ConfigError` if the price of a model is unknown."""
    for info in infos:
        if info.price is None:
            raise ConfigError(
                f"a cost limit needs a price, and none is known for {info.ref}: set "
                f'[models."{info.ref}"] price = {{ input = …, output = … }} (US dollars for a million tokens; '
                "{ input = 0, output = 0 } if it is free)"
            )


@contextmanager
def pointing_to_trust(wanted: Sequence[str], ref: str = "") -> Iterator[None]:
    """Turn a `ConfigError` about a model that an untrusted project names into a hint to `bridle trust`.

    `wanted` is the project's model, and its providers, each followed by a slash.
    """
    try:
        yield
    except ConfigError as error:
        asked = [ref] if f"{ref.partition('/')[0]}/" in wanted else []
        named = asked if ref else [name for name in wanted if not name.endswith("/")]
        if not named:
            raise
        way_out = "`bridle trust` (or --trust for one run) makes its settings count"
        raise ConfigError(f"this project names {named[-1]}, but is not trusted: {way_out}") from error
