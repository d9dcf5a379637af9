"""A person at the command line for each test."""

import pytest
from support.cli_home import Home


@pytest.fixture
def home(tmp_path):
    """A person with an empty home and a project."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "hello.txt").write_text("hello\nworld\n")
    return Home(tmp_path, project)
