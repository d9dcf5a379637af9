"""Every requirement is held by something, and docs/evidence/requirements.md says by what."""

import ast
import re
from functools import cache
from typing import NamedTuple

import pytest
from mutation.seed_faults import FAULTS, caught, row_of
from support.paths import ROOT

PAGE = ROOT / "docs" / "evidence" / "requirements.md"
SEEDS = ("000", "001", "002", "003", "004")

TEST = re.compile(r"tests/(?:\w+/)*test_\w+\.py(?:::Test\w+)?::test_\w+")
WORDS = re.compile(r"(?:departs: |not ours: |OPEN: )\S.*")
BETWEEN_CELLS = re.compile(r"(?<!\\)\|")


class Row(NamedTuple):
    number: str
    says: str
    held_by: str

    @property
    def tests(self):
        return [each for each in self.held_by.split("<br>") if each.startswith("tests/")]


def read(text):
    """The rows of every table; each line that begins like one must be one."""
    rows = []
    for line in text.splitlines():
        if line.startswith("|") and not line.startswith(("| # |", "| --- |")):
            first, *cells, last = (cell.strip() for cell in BETWEEN_CELLS.split(line))
            assert (first, last, len(cells)) == ("", "", 3), line
            rows.append(Row(*cells))
    return rows


ROWS = read(PAGE.read_text(encoding="utf-8"))


@cache
def names_in(path):
    """The names of the tests in a file, those of classes with their class; nothing is imported."""
    if not (ROOT / path).is_file():
        return frozenset()
    found = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        found |= {prefix + each.name for each in inner if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))}
    return frozenset(found)


def is_there(test):
    path, _, name = test.partition("::")
    return name in names_in(path)


def is_valid(row):
    held = row.held_by.split("<br>")
    return all(TEST.fullmatch(each) for each in held) or WORDS.fullmatch(row.held_by) is not None


def test_every_test_that_is_named_is_there():
    assert any(row.tests for row in ROWS)
    assert [(row.number, test) for row in ROWS for test in row.tests if not is_there(test)] == []


def test_every_row_quotes_its_seed_and_says_what_holds_it():
    assert [row.number for row in ROWS if not re.fullmatch(r'".+"', row.says)] == []
    assert [(row.number, row.held_by) for row in ROWS if not is_valid(row)] == []


def test_numbers_are_unique_and_consecutive_in_each_seed():
    wanted = [f"{seed}.{n}" for seed in SEEDS for n in range(1, 1 + sum(r.number[:4] == f"{seed}." for r in ROWS))]
    assert [row.number for row in ROWS] == wanted
    assert {row.number[:3] for row in ROWS} == set(SEEDS)


def test_nothing_is_open():
    assert [row.number for row in ROWS if row.held_by.startswith("OPEN")] == []


def test_every_planted_fault_still_fits_the_source_and_names_a_test_of_its_row():
    rows = {row.number: row.tests for row in ROWS}
    for fault in FAULTS:
        assert (ROOT / fault.path).read_text(encoding="utf-8").count(fault.before) == 1, fault.row
        assert fault.test in rows[fault.row], fault.row
    assert len({fault.row for fault in FAULTS}) >= 30


def test_the_published_faults_are_those_that_are_planted():
    published = (ROOT / "docs" / "evidence" / "requirement-faults.md").read_text(encoding="utf-8")
    lines = [line for line in published.splitlines() if re.match(r"\| \d", line)]
    assert lines == [row_of(fault, seen=True) for fault in FAULTS]


@pytest.mark.parametrize("fault", FAULTS[::25], ids=lambda fault: fault.row)
def test_a_planted_fault_is_seen_by_the_test_of_its_row(fault):
    """A few of them; `scripts/seeds` tries all."""
    assert caught(fault)
