"""The API reference has every public name, is current, and says something about each of them."""

import ast
import re

import pytest
from support.api_reference import PAGE, SUBJECTS, doc_of, found as definition, methods, module_of, page
from support.paths import ROOT

import bridle
from bridle import Runtime, Sessions


def test_the_reference_is_current():
    """To write it: PYTHONPATH=tests:src python -m support.api_reference"""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_public_name_stands_under_one_subject():
    named = [name for names in SUBJECTS.values() for name in names]
    assert sorted(named) == sorted(bridle.__all__)
    assert [name for name in named if f"(#{name.lower()})" not in PAGE.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("name", bridle.__all__)
def test_every_public_name_is_documented_and_can_be_imported(name):
    assert doc_of(name)
    assert getattr(bridle, name) is not None


def test_type_checkers_see_the_public_names_and_no_others():
    tree = ast.parse((ROOT / "src" / "bridle" / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [each for each in tree.body if isinstance(each, ast.If)]
    imports = [each for each in block.body if isinstance(each, ast.ImportFrom)]
    assert {alias.asname: each.module for each in imports for alias in each.names} == bridle._PLACES


def test_every_method_of_sessions_has_a_contract_and_a_runtime_has_the_same_arguments():
    sessions, _ = definition("Sessions", module_of("Sessions"))
    public = [each.name for each in sessions.body if hasattr(each, "args")]
    assert [method.name for method in methods(sessions)] == public
    assert [name for name in public if not hasattr(Runtime, name)] == []
    assert len(public) == len([name for name in vars(Sessions) if re.match(r"[a-z]", name)])
