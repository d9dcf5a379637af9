"""A person's folders, where the sandbox sees them."""

import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def place():
    """A folder that the sandbox's own /tmp does not hide."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        (Path(folder) / "project").mkdir()
        (Path(folder) / "home").mkdir()
        yield Path(folder)
