"""Ways around rules that were thought of by attackers: each is asked about or denied, whatever was allowed."""

import random
import subprocess
import tarfile
from pathlib import Path

import pytest
from support import shell_attacks as attacks
from support.shell_corpus import EVERYDAY
from support.shell_judge import PROJECT, SETS, rules, verdict as judge_line
from support.shell_programs import execute

from bridle.core.permission import DEFAULT_RULES, Rule, judge, strictest
from bridle.shell.required_access import needs_of
from bridle.shell.sed import only_edits


def over_defaults(table):
    """With the rules that everybody has for files, under which an edit is not asked about."""
    return (*DEFAULT_RULES, *(Rule("bash", pattern, verdict) for pattern, verdict in table.items()))


FAMILIES = {
    "assigned": (attacks.ALLOWS_NAMED, attacks.ASSIGNED),
    "aliases": (attacks.DENIES_RM | {"python *": "deny", "python3 *": "deny"}, attacks.ALIASES),
    "launchers": (attacks.DENIES_RM, attacks.LAUNCHERS),
    "unknown": (attacks.DENIES_RM, attacks.UNKNOWN),
    "starters": (attacks.DENIES_STARTERS, attacks.STARTERS),
    "sed": (attacks.ALLOWS_SED, attacks.SED),
    "hidden": (attacks.DENIES_RM, attacks.HIDDEN),
    "repositories": (attacks.ALLOWS_GIT, attacks.REPOSITORIES),
    "joined lines": (attacks.ALLOWS_SOME, attacks.JOINED_LINES),
    "evaluated": (attacks.ALLOWS_SOME, attacks.EVALUATED),
    "protected": (over_defaults(attacks.DENIES_RM), attacks.PROTECTED),
    "protected by git": (over_defaults(attacks.ALLOWS_SOME), attacks.PROTECTED_BY_GIT),
    "just made": (over_defaults({"*": "allow", "curl *": "deny"}), attacks.JUST_MADE),
    "options": (attacks.DENIES_COMMANDS, attacks.OPTIONS),
    "links": (over_defaults(attacks.DENIES_RM), attacks.LINKS),
    "links by git": (over_defaults(attacks.ALLOWS_SOME), attacks.LINKS_BY_GIT),
}


ARCHIVES = {"*": "ask", "tar *": "allow", "gtar *": "allow", "zip *": "allow", "man *": "allow"}
RUN_BY_AN_ARCHIVER = [
    *("tar --use-compress-program=./x -cf a b", "tar --use=./x -tf a", "tar -I ./x -cf a b", "tar -tf a -I ./x"),
    *("tar cIf ./x a b", "tar cMFf ./x a b", "tar -cMf a -F ./x b", "tar --new-volume-script=./x -cMf a b"),
    *("tar --checkpoint=1 --checkpoint-action=exec=./x -cf a b", "tar --rsh-command=./x -cf h:a b", "gtar cIf ./x a b"),
    *("tar -cf a *", "zip a.zip b -T -TT ./x", "zip -TTx a.zip b", "zip a b --unzip-command ./x", "man -P ./x ls"),
    *("man --pager=./x ls", "man -H./x ls"),
]


@pytest.mark.parametrize("line", RUN_BY_AN_ARCHIVER)
def test_options_with_which_an_archiver_runs_programs_are_asked_about(line):
    assert judge_line(rules(ARCHIVES), line) == "ask"


@pytest.mark.parametrize("line", ["tar -czf out/a.tgz src", "tar tf a.tar", "tar --list --file=a.tar", "man 3 printf"])
def test_archives_are_made_and_listed_without_a_question(line):
    assert judge_line(rules(ARCHIVES), line) == "allow"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A repository with folders that look like others: planted by file tools, nested, and linked."""
    folder = tmp_path_factory.mktemp("project")
    for name in (
        ".git/objects",
        ".git/refs",
        "evil/objects",
        "evil/refs",
        "nested/.git",
        "nested/inner",
        "sub",
        "file",
    ):
        (folder / name).mkdir(parents=True)
    for name in (".git/HEAD", "evil/HEAD", "nested/.git/HEAD"):
        (folder / name).write_text("ref: refs/heads/main\n")
    (folder / "evil" / "config").write_text("[core]\nfsmonitor = touch X\n")
    (folder / "file" / ".git").write_text("gitdir: ../evil\n")
    (folder / "link").symlink_to("evil")
    (folder / "hooks").symlink_to(".git/hooks")
    for name, text in attacks.FILES.items():
        (folder / name).write_text(text)
    for name, inner in (("good.tar", "src/a.txt"), ("hooks.tar", ".git/hooks/x"), ("agents.tar", "docs/AGENTS.md")):
        with tarfile.open(folder / name, "w") as archive:
            archive.add(folder / "a.txt", inner)
    return folder


def verdict(table, line, project):
    return strictest(
        judge(rules(table) if isinstance(table, dict) else table, need) for need in needs_of(line, project, project)
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_no_attack_of_the_family_runs_without_a_question(family, project):
    table, lines = FAMILIES[family]
    assert len(set(lines)) == len(lines) >= 36
    assert [line for line in lines if verdict(table, line, project) == "allow"] == []


@pytest.mark.parametrize("family", attacks.HARMLESS)
def test_harmless_lines_beside_the_attacks_are_not_asked_about(family, project):
    table = FAMILIES[family][0]
    assert [line for line in attacks.HARMLESS[family] if verdict(table, line, project) != "allow"] == []


ASKED = {"sandbox": 3, "CAREFUL": 160, "OPEN": 108, "PYTHON": 178, "ALL": 7}
"""How many of the everyday commands were not simply allowed before these attacks were thought of."""


@pytest.mark.parametrize("name", ASKED)
def test_everyday_commands_are_asked_about_no_more_often_than_before(name):
    table = {**SETS, "sandbox": (*DEFAULT_RULES, Rule("bash", "*", "allow"))}[name]
    assert sum(verdict(table, line, PROJECT) != "allow" for line in EVERYDAY) <= ASKED[name]


@pytest.mark.parametrize(
    "table,line",
    [
        ({"*": "ask", "python *": "deny", "python3 *": "allow"}, "python3 a.py"),
        ({"*": "allow", "rm *": "deny"}, "bash -c 'echo rm a'"),
        ({"*": "allow", "rm *": "deny"}, "timeout 5 echo rm a"),
        ({"*": "allow", "rm *": "deny", "tool *": "allow"}, "tool rm a"),
        ({"*": "ask", "gcc-12 *": "allow", "gcc *": "deny"}, "gcc-12 a.c"),
        ({"*": "allow", "rm *": "deny", "gh *": "allow"}, "gh pr create --title x --body 'no more rm a'"),
    ],
)
def test_a_rule_that_names_the_program_is_taken_at_its_word(table, line):
    assert verdict(table, line, PROJECT) == "allow"


def test_a_folder_given_to_the_tool_is_judged_like_one_that_is_gone_to(project):
    needed = needs_of("git status", project, project / "evil")
    assert strictest(judge(rules(attacks.ALLOWS_GIT), need) for need in needed) == "ask"


def test_a_project_that_is_a_bare_repository_itself_is_asked_about(project):
    assert verdict(attacks.ALLOWS_GIT, "git status", project / "evil") == "ask"


def test_the_real_sed_finds_nothing_to_run_or_write_in_scripts_that_only_edit():
    """In its own sandbox sed refuses a script with a command that runs, reads or writes something."""
    drawn = random.Random(2_026)
    judged, wrong = 0, []
    for _ in range(20_000):
        script = "".join(drawn.choices(PIECES, k=drawn.randrange(1, 9)))
        if only_edits(script) and "[" in script:
            judged += 1
            done = subprocess.run(
                ["sed", "--sandbox", script, "/dev/null"], capture_output=True, text=True, check=False
            )
            wrong += [script] if "sandbox" in done.stderr else []
        if judged == 100:
            break
    assert (judged, wrong) == (100, [])


PIECES = (
    *(
        "s",
        "y",
        "/",
        "/",
        "/",
        "/",
        ",",
        "[",
        "[",
        "]",
        "]",
        "^",
        "\\",
        "e",
        "w",
        "r",
        ";",
        ";",
        "#",
        "a",
        "g",
        "p",
        "d",
    ),
    *(
        "s/",
        "/;s/",
        "[/]",
        "[^/]",
        "[]/]",
        "[[:a:]",
        "[[.",
        "[=",
        "\\/",
        "\\[",
        "\\]",
        "/e",
        "/w x",
        "{",
        "}",
        "\n",
        "1",
        "$",
        "!",
    ),
    *("s/a/b/", "s/[a]/b/", "/[a]/", "s,[a],", "y/a/b/"),
)
PROVED = {
    "setarch": "setarch x86_64 rm a",
    "linux64": "linux64 rm a",
    "choom": "choom -n 0 -- rm a",
    "rbash": "rbash -c 'rm a'",
}


def test_launchers_run_what_they_are_given_in_a_real_bash_and_are_not_allowed_to(tmp_path):
    """Those that this machine has; a launcher that is missing runs nothing."""
    there = [line for name, line in PROVED.items() if Path("/usr/bin", name).exists()]
    ran = execute(there, tmp_path, extra=[line.partition(" ")[0] for line in there])
    assert [line for line, each in zip(there, ran, strict=True) if ("rm", "a") not in each.programs] == []
    assert {verdict(attacks.DENIES_RM, line, PROJECT) for line in there} <= {"ask", "deny"}


@pytest.mark.parametrize(
    "table,line,expected",
    [
        ({"*": "ask", "npm *": "allow", "npm publish*": "deny"}, "npm --silent publish", "deny"),
        ({"*": "ask", "npm *": "allow", "npm publish*": "deny"}, "npm --foo bar publish", "ask"),
        ({"*": "ask", "npm *": "allow", "npm publish*": "deny"}, "npm --silent test", "allow"),
        ({"*": "ask", "make *": "allow", "make deploy*": "ask"}, "make -C sub deploy", "ask"),
        ({"*": "allow", "git tag*": "deny"}, "git --no-pager tag v9", "deny"),
        ({"*": "allow", "git tag*": "deny"}, "git -P tag $x", "deny"),
        ({"git tag*": "deny", "git *": "allow"}, "git -P tag v9", "allow"),
    ],
)
def test_a_rule_against_a_command_of_a_program_holds_behind_its_options(table, line, expected):
    assert verdict(table, line, PROJECT) == expected


FALSELY_ASKED = [
    *(
        "git config user.name",
        "git config remote.origin.url",
        "git --no-pager config user.name",
        "git sparse-checkout list",
    ),
    *(
        "git ls-files | awk -F/ '{print $1}'",
        "sed '1i header' a.txt",
        "sed -i '$a last line' a.txt",
        "sed '2c x; y' a.txt",
    ),
]
STILL_ASKED = [
    *(
        "git config user.name x",
        "git config edit",
        "git config alias",
        "git -C . config user.name x",
        "git sparse-checkout set x",
    ),
    *("sed '1i\\\ntext' a.txt", "sed '1e rm' a.txt", "sed '1i a\\\n' a.txt", "sed '1a\ne rm' a.txt", "git config $x"),
    *(
        "sed 'i x\ne rm' a.txt",
        "sed 'a x\nw f' a.txt",
        "awk -f / x",
        "git config 'a.b' --edit",
        "git --no-pager config a.b c",
    ),
]


def test_lines_that_only_read_or_edit_are_not_asked_about(project):
    table = over_defaults(attacks.ALLOWS_SOME)
    assert [line for line in FALSELY_ASKED if verdict(table, line, project) != "allow"] == []
    assert [line for line in STILL_ASKED if verdict(table, line, project) == "allow"] == []


def test_a_denial_names_the_place_that_was_meant(project):
    needed = needs_of("cd sub; sed -i 1d ../.git/config", project, project)
    assert next(need.pattern for need in needed if need.permission == "protected") == ".git/config"
