"""A person with an empty home and an empty project for each test."""

import pytest
from support.cli_home import ForkedHome


@pytest.fixture
def home(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    return ForkedHome(tmp_path, project)
