"""A server for all stories of a module that change nothing of it, and homes for those that do."""

import shutil

import pytest
from support.served_home import new_home


@pytest.fixture(scope="module")
def shared():
    """A home with one server, for stories that use sessions of their own."""
    home = new_home()
    home.serve()
    yield home
    home.end()
    shutil.rmtree(home.folder, ignore_errors=True)


@pytest.fixture
def served():
    """A home whose servers a story starts and ends."""
    home = new_home()
    yield home
    home.end()
    shutil.rmtree(home.folder, ignore_errors=True)
