"""What a command line needs to be allowed: a corpus of tricks and habits, and a real bash as the judge of the judge."""

from collections import Counter

import pytest
from support.shell_corpus import EVERYDAY, ROWS
from support.shell_differential import denied_runs, false_allows
from support.shell_judge import PROJECT, SETS, rules, verdict

from bridle.core.permission import DEFAULT_RULES, Access, Rule, judge, strictest
from bridle.shell.required_access import needs_of

FITS = {"allow": {"allow"}, "ask": {"ask"}, "deny": {"deny"}, "guarded": {"ask", "deny"}}


@pytest.mark.parametrize("rules", SETS)
def test_every_command_of_the_corpus_gets_its_verdict(rules):
    rows = [row for row in ROWS if row.rules == rules]
    found = {(row.command, row.why): verdict(SETS[rules], row.command) for row in rows}
    assert {
        key: got for key, got in found.items() for row in rows if row[1::2] == key and got not in FITS[row.verdict]
    } == {}


def test_the_corpus_is_large_and_has_no_row_twice():
    assert len({(row.rules, row.command) for row in ROWS}) == len(ROWS) >= 400
    assert len(set(EVERYDAY)) == 200


def test_a_real_bash_runs_nothing_that_was_not_allowed():
    # The same lines each time, so that a failure is a change of ours; `scripts/shell` looks for new ones.
    found, allowed = false_allows(seed=2_026, count=2_000)
    assert found == []
    assert allowed > 200


def test_a_real_bash_never_runs_what_alone_was_denied():
    found, allowed = denied_runs(seed=2_026, count=600)
    assert found == []
    assert allowed > 60


def test_everyday_commands_are_seldom_asked_about_in_the_sandbox():
    """There the default is to allow every program; what is asked is about files, and about where it goes."""
    rules = (*DEFAULT_RULES, Rule("bash", "*", "allow"))
    asked = [
        line for line in EVERYDAY if strictest(judge(rules, each) for each in needs_of(line, PROJECT, PROJECT)) == "ask"
    ]
    assert asked == [
        "git push -u origin HEAD",
        'for d in services/*/; do (cd "$d" && npm run lint); done',
        'echo "DEBUG=1" >> .env',
    ]


def test_everyday_commands_under_rules_with_exceptions():
    """Programs that run others are not trusted by a bare star once anything is denied: that is what is asked most."""
    assert Counter(verdict(SETS["OPEN"], line) for line in EVERYDAY)["allow"] >= 90


def test_each_command_of_a_line_is_judged_and_the_strictest_counts():
    assert needs_of("git status && npm test > out/log", PROJECT, PROJECT) == (
        Access("bash", "git status", always="git status *"),
        Access("bash", "npm test", "runs", always="npm test *"),
        Access("edit", "out/log"),
    )


def test_a_rule_for_part_of_a_program_holds_for_what_is_not_known():
    rules = (Rule("bash", "*", "allow"), Rule("bash", "git push *", "deny"))
    for line, expected in (
        ("git status $x", "allow"),
        ("git $x", "ask"),
        ("git push $x", "deny"),
        ("$x", "ask"),
        ("gitx $x", "allow"),
    ):
        assert verdict((*rules, Rule("external_directory", "*", "ask")), line) == expected, line


LONG = [
    "1" * 90_000 + "! a",
    "ls " + "1" * 90_000 + "! a; x",
    "tool " + "rm," * 30_000,
    "sed 's/" + "[" * 40_000 + "/' f",
    "sed 's/" + "[a]" * 20_000 + "[/' f",
    "git -C " + "../" * 20_000 + " status",
    "x " + "-" * 90_000,
    "g" * 90_000 + " -C evil",
]


@pytest.mark.parametrize("line", LONG, ids=lambda line: line[:12])
def test_a_line_that_is_long_and_tangled_gets_a_verdict(line):
    assert verdict(SETS["CAREFUL"], line) == "ask"
    verdict(rules({"*": "allow", "*x*y*": "ask", "rm *x": "deny"}), line)


@pytest.mark.parametrize("line", ["(" * 3_000, "$(" * 500 + ")" * 500, "x" * 200_000, "\0", "'", "$((", "`" * 99])
def test_whatever_is_given_gets_a_verdict(line):
    assert verdict(SETS["CAREFUL"], line) == "ask"
