"""A machine of its own for each test."""

import tempfile
from pathlib import Path

import pytest
from support.sheltered import Sheltered


@pytest.fixture
def place():
    """A folder that the sandbox's own /tmp does not hide."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def shut_in(place):
    return Sheltered(place)
