"""The documents about the architecture say what the source says."""

import re
import tomllib

import pytest
from support.package_readmes import packages, readme
from support.paths import ROOT
from support.source import MODULES, SOURCE, name

import bridle

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def names_of(layer: str) -> set[str]:
    """Return the packages of a layer; import-linter writes an optional one in parentheses."""
    return {each.strip(" ()") for each in layer.split("|")}


def test_the_drawing_of_the_layers_equals_the_contract():
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    lines = section("The layers").split("```")[1].strip().splitlines()
    drawn = [re.split(r" {2,}", line)[0] for line in lines]
    assert [names_of(line) for line in drawn] == [names_of(layer) for layer in layers]


def test_every_file_in_the_table_of_places_exists():
    rows = [line.split(" | ")[0] for line in section("The places").splitlines() if line.startswith("| `")]
    assert len(rows) > 40
    for row in rows:
        first, *others = re.findall(r"`([^`]+)`", row)
        folder = (SOURCE / first).parent
        missing = [each for each in (SOURCE / first, *(folder / other for other in others)) if not each.is_file()]
        assert missing == []


@pytest.mark.parametrize("folder", packages(), ids=name)
def test_the_readme_of_a_package_lists_its_modules(folder):
    """Written by `PYTHONPATH=tests:src python -m support.package_readmes`."""
    assert (folder / "README.md").read_text(encoding="utf-8") == readme(folder)


def test_the_version_has_one_source():
    version = PROJECT["project"]["version"]
    assert bridle.__version__ == version
    assert [name(path) for path in MODULES if f'"{version}"' in path.read_text(encoding="utf-8")] == []
