"""Which variables of an environment are secret: commands that a model runs do not get them unasked."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_SECRET = re.compile(
    r"API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|_KEY$|^KEY$|SECRET|TOKEN|PASSW(OR)?D|PASSPHRASE|CREDENTIAL|_PAT$|_PWD$",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """Whether a variable is called like one that holds something secret."""
    return _SECRET.search(name) is not None


def without_secrets(
    environment: Mapping[str, str], *, known: Collection[str] = (), passes: Collection[str] = ()
) -> dict[str, str]:
    """The environment for a command: without what is called secret or is `known` to be, but for what is let pass."""
    return {
        name: value for name, value in environment.items() if name in passes or not (name in known or is_secret(name))
    }
