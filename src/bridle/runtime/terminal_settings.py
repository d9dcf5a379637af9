"""What the terminal application gets from the person's own configuration and folders, also with a server's sessions."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.config.load import load, state_home
from bridle.values.keys import KeySettings


def own_keys() -> KeySettings:
    """Return the keys of the person's configuration; raises `ConfigError` for one that is invalid."""
    # No project lies there, so that only the person's own files are read.
    return load(Path("/")).settings.keys


def terminal_folder() -> Path:
    """Return the folder for the history of prompts, favorite models and the picked theme."""
    return state_home(os.environ) / "terminal"
