"""A person with an empty home and an empty project for each test."""

import pytest
from support.cli_home import ForkedHome


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home" / "project").mkdir(parents=True)
    return ForkedHome(tmp_path / "home", tmp_path / "home" / "project")
