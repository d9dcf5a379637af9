"""What a person is asked about a command line, and what an always lets pass from then on."""

import pytest
from support.shell_judge import PROJECT

from bridle.core.permission import DEFAULT_RULES, Rule, covers, judge
from bridle.shell.required_access import needs_of

RULES = (*DEFAULT_RULES, Rule("bash", "ls *", "allow"))


def asked(line, rules=RULES):
    return [need for need in needs_of(line, PROJECT, PROJECT) if judge(rules, need) == "ask"]


def passes(approved, later, rules=RULES):
    """Whether a later line runs without a question once a person has said always to all that a first one needs."""
    saved = asked(approved, rules)
    assert saved
    return all(any(covers(each, need) for each in saved) for need in asked(later, rules))


@pytest.mark.parametrize(
    "line",
    ["rm *.tmp", "cp *.md docs", "rm -r *.egg-info", "shred -u *.tmp", "X=a; rm $X", "ls | xargs rm", 'frob "$(ls)"'],
)
def test_the_ask_shows_the_words_as_they_are_written(line):
    assert all(need.pattern in line and (need.pattern == line or "$" not in line) for need in asked(line))
    assert any(line.endswith(need.pattern) for need in asked(line))


@pytest.mark.parametrize(
    "approved,later",
    [
        ("rm *.tmp", "rm *.txt"),
        ("rm *.tmp", "X=a.txt; rm $X"),
        ("rm -r *.egg-info", "rm -r ?rc"),
        ("shred -u *.tmp", "shred -u *"),
        ("X=b; rm $X", "X=a; rm $X"),
        ("for f in a b; do rm $f; done", "for f in *; do rm $f; done"),
        ("echo a | xargs rm", "cat list | xargs rm"),
        ("rm {a,b}", "rm {c,d}"),
        ("timeout 5 rm *.tmp", "timeout 5 rm *"),
        ("find . -name '*.tmp' -exec rm {} +", "find . -exec rm {} +"),
        ("git config user.$x y", "git config core.$x y"),
    ],
)
def test_an_always_for_words_that_are_not_known_covers_the_same_text_alone(approved, later):
    assert passes(approved, approved)
    assert not passes(approved, later)


def test_an_always_for_unknown_words_behind_a_program_that_may_run_them_covers_the_same_text_alone():
    rules = (Rule("bash", "*", "allow"), Rule("bash", "rm *", "deny"))
    assert passes('frob rm "$x"', 'frob rm "$x"', rules)
    assert not passes('frob rm "$x"', 'frob rm "$y"', rules)


@pytest.mark.parametrize(
    "approved,later",
    [
        ("make test", "make test --eval='$(shell touch X)'"),
        ("make test", "make test -f evil.mk"),
        ("make test", "make test SHELL=./x"),
        ("make test", "make test -C evil"),
        ("npm test", "npm test --prefix evil"),
        ("npm test", "npm test --script-shell=./x"),
        ("cargo test", "cargo test --config x"),
        ("go test ./...", "go test -exec ./x ./..."),
        ("go build", "go build -toolexec=./x"),
    ],
)
def test_an_always_for_a_command_does_not_cover_options_that_run_something_else(approved, later):
    assert passes(approved, approved)
    assert not passes(approved, later)


def test_an_always_for_known_words_covers_what_it_has_said():
    assert passes("git status", "git status -s")
    assert passes("npm test", "npm test -- a")
    assert passes("make test", "make test -j4")
    assert passes("go test ./...", "go test -v -run TestX ./...")
    assert passes("cargo test", "cargo test -- --nocapture")
    assert not passes("npm test", "npm run test")
