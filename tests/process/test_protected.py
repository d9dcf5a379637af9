"""Files that a program runs or obeys later, and what becomes of them whatever a command does and however it ends."""

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.protected_machine import EVIL, WRITE, background, git, person
from support.sheltered import BASH

from bridle.core.permission import DEFAULT_RULES, EDIT_PROTECTED, Access, judge
from bridle.process.protected_places import PlaceWatch, Survey
from bridle.workspace.git_place import git_place


def cut(machine, command):
    """Run a command whose call is cancelled, as by an abort or by the end of a turn's time."""
    invocation = machine.invocation()

    async def work():
        running = asyncio.ensure_future(
            BASH.run(BASH.check({"command": f"{command}; echo ready; sleep 60"}), invocation)
        )
        while "ready" not in invocation.printed.text():
            await asyncio.sleep(0.05)
        running.cancel()
        await asyncio.wait([running])
        return invocation.printed.text()

    return asyncio.run(work())


WAYS = {"foreground": lambda machine, command: machine(command).text, "background": background, "cut": cut}
PLANTS = {
    "a setting": EVIL + " > .git/config",
    "a setting behind much else": "(head -c 70000 /dev/zero | tr '\\0' '#'; echo; " + EVIL + ") > .git/config",
    "a hook": "printf '#!/bin/sh\\ntouch {marks}/PWNED\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
    "commondir": "mkdir evil; cp -r .git/objects .git/refs evil; "
    + EVIL
    + " > evil/config; echo ../evil > .git/commondir",
    "settings of the work tree": EVIL + " > .git/config.worktree",
    "git moved away": "mv .git old; mkdir .git; cp -r old/* .git/; " + EVIL + " > .git/config",
    "attributes": "echo '* filter=x' > .git/info/attributes",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("plant", PLANTS)
def test_nothing_is_planted_in_git_however_the_command_runs(machine, plant, way):
    before = {path: path.read_bytes() for path in (machine.project / ".git").glob("config*")}
    WAYS[way](machine, PLANTS[plant].format(marks=machine.other))
    assert {path: path.read_bytes() for path in (machine.project / ".git").glob("config*")} == before
    assert not (machine.project / ".git" / "commondir").exists()
    assert not (machine.project / ".git" / "info" / "attributes").exists()
    assert not person(machine)


def test_a_git_folder_that_is_no_ordinary_one_is_read_only_as_a_whole(machine):
    machine("mv .git/HEAD .git/H0")
    plant = PLANTS["a setting"].format(marks=machine.other)
    background(machine, f"{plant}; mv .git/H0 .git/HEAD")
    assert machine(f"{plant}").failed
    (machine.project / ".git" / "H0").rename(machine.project / ".git" / "HEAD")
    assert not person(machine)


INIT = "git init -q . && "
RUNS = "fsmonitor=touch {marks}/PWNED\\n"
NEW = {
    "control characters": INIT + 'printf \'# \\v[submodule "x"]\\n' + RUNS + "' >> .git/config",
    "a continued line": INIT + "printf '[user]\\nname=a\\\\\\n[core]\\n" + RUNS + "' >> .git/config",
    "much": INIT + "(head -c 70000 /dev/zero | tr '\\0' '#'; echo; " + EVIL + ") >> .git/config",
    "a hook": INIT + "printf '#!/bin/sh\\ntouch {marks}/PWNED\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/*",
    "a file": "printf 'gitdir: {marks}' > .git",
    "a link": "ln -s {marks} .git",
}


@pytest.mark.parametrize("plant", NEW)
@pytest.mark.parametrize("where", ["alone", "below", "deep"])
def test_a_new_repository_stays_only_if_it_is_plain(machine, plant, where):
    if where == "alone":
        subprocess.run(["rm", "-rf", machine.project / ".git"], check=True)
    else:
        machine.project = machine.project / "sub"
        machine.project.mkdir()
    command = NEW[plant].format(marks=machine.other)
    folder = machine.project
    if where == "deep":
        folder = machine.project / "deep" / "er"
        command = f"mkdir -p deep/er && cd deep/er && {command}"
    text = machine(command).text
    assert "was set aside because of" in text
    assert not person(machine, folder)


def test_plain_repositories_that_a_command_makes_stay(machine):
    made = "git init -q new && git clone -q . copy && git init -q --bare bare.git && git -C new remote add o ../copy"
    output = machine(f"{made} && git -C copy log --oneline | wc -l")
    assert (output.text, output.failed) == ("1\n", False)
    assert all((machine.project / name).is_dir() for name in ("new/.git", "copy/.git", "bare.git"))


def test_a_folder_that_looks_like_a_repository_is_made_harmless(machine):
    command = "mkdir -p docs/objects docs/refs; echo 'ref: refs/heads/x' > docs/HEAD; " + EVIL + " > docs/config"
    text = machine(command.format(marks=machine.other) + "; printf 'worktree=.\\n' >> docs/config").text
    assert "docs was set aside because of its config" in text
    git(machine.project / "docs.set-aside-1", "status")
    assert not (machine.other / "PWNED").exists()


def test_files_that_git_includes_are_protected_from_where_git_looks(machine):
    git(machine.project, "config", "include.path", "../.gitconfig")
    (machine.project / ".gitconfig").write_text("[user]\nname=a\n")
    machine((EVIL + " > .gitconfig").format(marks=machine.other))
    assert (machine.project / ".gitconfig").read_text() == "[user]\nname=a\n"
    (machine.project / ".gitconfig").unlink()
    assert (
        ".gitconfig is protected and was removed" in machine((EVIL + " > .gitconfig").format(marks=machine.other)).text
    )
    assert not person(machine)


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_of_hooks_that_a_setting_names_is_protected_there_or_not(machine, there):
    git(machine.project, "config", "core.hooksPath", "hk")
    if there:
        (machine.project / "hk").mkdir()
    machine(f"mkdir -p hk; printf '#!/bin/sh\\ntouch {machine.other}/PWNED\\n' > hk/pre-commit; chmod +x hk/pre-commit")
    assert not (machine.project / "hk" / "pre-commit").exists()
    assert not person(machine)


OBEYED = [
    *(".envrc", ".mcp.json", ".claude/settings.json", ".vscode/tasks.json", "opencode.json", ".husky/pre-commit"),
    *("CLAUDE.md", "AGENTS.md", ".cursor/rules", ".idea/x.xml", "mise.toml", ".pre-commit-config.yaml", ".agents/s.md"),
    *(".hg/hgrc", ".autoenv", ".github/copilot-instructions.md", "AGENTS.override.md"),
    *("bridle.toml", ".bridle/tools/t.py"),
]


@pytest.mark.parametrize("folder", ["", "sub/deeper/"])
@pytest.mark.parametrize("name", OBEYED)
def test_files_that_are_obeyed_later_are_not_left_behind_at_any_depth(machine, name, folder):
    path = machine.project / folder / name
    write = f'mkdir -p "$(dirname {folder}{name})"; ' + WRITE.format("evil", f"{folder}{name}")
    text = machine(f"{write}; echo fine > b.txt").text
    assert not path.exists()
    assert f"{folder}{name} is protected and was removed" in text
    assert (f'to ask a person: outside: ["{folder}{name}"]' in text) == ("bridle" not in name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine\n")
    machine(WRITE.format("evil", f"{folder}{name}") + f"; rm -f {folder}{name}; echo fine > c.txt")
    assert path.read_text() == "mine\n"
    assert (machine.project / "b.txt").read_text() == (machine.project / "c.txt").read_text() == "fine\n"


def test_the_replaced_version_is_kept_and_an_approval_lets_it_pass(machine):
    (machine.project / "AGENTS.md").write_text("mine\n")
    git(machine.project, "add", "-A")
    text = machine(WRITE.format("theirs", "AGENTS.md")).text
    kept = text.partition("the changed version is in ")[2].partition(";")[0]
    assert Path(kept).read_text() == "theirs\n"
    needs = BASH.accesses(BASH.check({"command": "./make", "outside": ["AGENTS.md"]}), machine.project)
    assert Access(EDIT_PROTECTED, "AGENTS.md") in needs
    assert machine(WRITE.format("theirs", "AGENTS.md"), outside=["AGENTS.md"]).text == "[no output]"
    assert (machine.project / "AGENTS.md").read_text() == "theirs\n"


def test_neither_a_wildcard_nor_an_allowance_for_edits_covers_them():
    from bridle.core.permission import Rule

    rules = (*DEFAULT_RULES, Rule("*", "*", "allow"), Rule("edit", "*", "allow"))
    assert judge(rules, Access(EDIT_PROTECTED, "AGENTS.md")) == "ask"
    assert judge((*rules, Rule(EDIT_PROTECTED, "AGENTS.md", "allow")), Access(EDIT_PROTECTED, "AGENTS.md")) == "allow"


def test_what_is_restored_is_never_written_through_a_link(machine):
    (machine.project / ".vscode").mkdir()
    (machine.project / ".vscode" / "tasks.json").write_text("mine\n")
    (machine.project / "sub").mkdir()
    (machine.project / "sub" / "AGENTS.md").write_text("mine\n")
    git(machine.project, "add", "-A")
    machine(f"rm -r .vscode; ln -s {machine.other} .vscode; rm -r sub; ln -s {machine.other} sub")
    assert list(machine.other.iterdir()) == []
    assert (machine.project / ".vscode" / "tasks.json").read_text() == "mine\n"


def test_folders_may_be_removed_with_what_is_protected_in_them(machine):
    nested = machine.project / "nested"
    git(machine.project, "init", "-q", "nested")
    (nested / "AGENTS.md").write_text("x")
    assert machine("rm -rf nested").text == "[no output]"
    assert not nested.exists()


def test_dependencies_that_git_ignores_are_exempt_and_others_are_not(machine):
    (machine.project / ".gitignore").write_text("node_modules\n")
    made = "mkdir -p {0}/x/.vscode && cp a.txt {0}/x/.vscode/settings.json && cp a.txt {0}/x/AGENTS.md"
    assert machine(made.format("node_modules")).text == "[no output]"
    assert (machine.project / "node_modules" / "x" / "AGENTS.md").exists()
    assert "vendor/x/AGENTS.md is protected and was removed" in machine(made.format("vendor")).text


def test_what_bridle_runs_from_is_read_only_inside_the_project(machine):
    package = machine.project / ".venv" / "lib" / "bridle"
    package.mkdir(parents=True)
    (package / "supervisor.py").write_text("ours\n")
    invocation = machine.invocation()
    found = replace(invocation.sandbox, own=(machine.project / ".venv",))
    invocation.commands = replace(invocation.commands, find_sandbox=lambda: found)
    given = BASH.check({"command": "echo evil > .venv/lib/bridle/supervisor.py; mv .venv old"})
    assert asyncio.run(BASH.run(given, invocation)).failed
    assert (package / "supervisor.py").read_text() == "ours\n"


def tracked(machine):
    """A repository that tracks AGENTS.md and .vscode, with a second branch, a submodule and a work tree."""
    project = machine.project
    (project / "AGENTS.md").write_text("rules\n")
    (project / ".vscode").mkdir()
    (project / ".vscode" / "settings.json").write_text("{}\n")
    (project / ".gitignore").write_text("tree/\n")
    git(machine.other, "init", "-q", "-b", "main", ".")
    git(machine.other, "commit", "-q", "--allow-empty", "-m", "one")
    git(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", machine.other, "module")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "tracked")
    return machine


EVERYDAY = {
    "commit": "echo 1 > f && git add f && git commit -qm f",
    "checkout": "git checkout -q -b topic && echo 2 > g && git add g && git commit -qm g && git checkout -q -",
    "merge": "git checkout -q -b m && echo 2 > g && git add g && git commit -qm g && git checkout - && git merge -q m",
    "stash": "echo changed > a.txt && git stash -q && cat a.txt && git stash pop -q && git checkout -q a.txt",
    "rebase": "git checkout -q -b r HEAD~1 && echo 3 > h && git add h && git commit -qm h && git rebase -q - 2>&1",
    "worktree": "git worktree add -q tree && cd tree && cat AGENTS.md && echo 4 > i && git add i && git commit -m i",
    "worktree removed": "git worktree add -q tree && git worktree remove tree",
    "submodule": "git submodule update && git -C module commit -q --allow-empty -m two && git checkout -q module",
    "gc": "git gc -q && git fsck",
    "amend": "git commit -q --amend -m other && git tag t && git branch -q more",
    "reset": "echo 5 > a.txt && git reset -q --hard && git clean -qfd",
}


@pytest.mark.parametrize("command", EVERYDAY)
def test_everyday_git_works_and_leaves_no_trace_of_the_sandbox(machine, command):
    project = tracked(machine).project
    output = machine(EVERYDAY[command])
    assert not output.failed, output.text
    assert "protected" not in output.text
    stand_ins = {".bridle", "bridle.toml", ".claude", ".mcp.json", ".envrc", ".idea", ".husky"}
    assert stand_ins.isdisjoint(path.name for path in project.iterdir())
    assert git(project, "status", "--porcelain").stdout in ("", " M module\n")


def test_a_branch_with_other_instructions_is_taken_with_approval(machine):
    project = tracked(machine).project
    git(project, "checkout", "-q", "-b", "other")
    (project / "AGENTS.md").write_text("other rules\n")
    git(project, "commit", "-qam", "other")
    text = machine("git checkout -q main").text
    assert "AGENTS.md is protected and was restored" in text
    assert git(project, "status", "--porcelain").stdout == " M AGENTS.md\n"
    git(project, "checkout", "-q", "AGENTS.md")
    git(project, "checkout", "-q", "other")
    assert machine("git checkout -q main", outside=["AGENTS.md"]).text == "[no output]"
    assert git(project, "status", "--porcelain").stdout == ""


def test_a_work_tree_whose_record_misleads_does_not_stay(machine):
    command = (
        "git worktree add -q tree; mkdir evil; cp -r .git/objects .git/refs .git/HEAD evil; " + EVIL + " > evil/config"
    )
    machine((command + "; echo ../../../evil > .git/worktrees/tree/commondir").format(marks=machine.other))
    git(machine.project / "tree", "status")
    assert not (machine.other / "PWNED").exists()


def test_many_submodules_fit_into_the_mounts_of_one_command(machine):
    for number in range(40):
        folder = machine.project / ".git" / "modules" / f"m{number}"
        git(machine.project, "init", "-q", "--bare", folder)
    plant = "for m in .git/modules/*; do echo '[core] x' >> $m/config; echo x > $m/hooks/pre-commit; done"
    machine(f"{plant}; ls")
    modules = (machine.project / ".git" / "modules").iterdir()
    assert not any(
        (folder / "hooks" / "pre-commit").exists() or "x" in (folder / "config").read_text() for folder in modules
    )


def test_masked_files_cannot_be_opened_and_the_way_out_is_told(machine):
    (machine.project / ".env").write_text("KEY=secret\n")
    (machine.project / "sub").mkdir()
    (machine.project / "sub" / "prod.env").write_text("KEY=secret\n")
    (machine.project / ".env.example").write_text("KEY=\n")
    output = machine("cat .env sub/prod.env; grep -rs secret . ; cp .env x; cat < .env; cat .env.example")
    assert "secret" not in output.text and "KEY=\n" in output.text
    assert 'outside: [".env"' in machine("cat .env").text
    assert Access("read", ".env") in BASH.accesses(
        BASH.check({"command": "true", "outside": [".env"]}), machine.project
    )
    assert machine("cat .env", outside=[".env"]).text == "KEY=secret\n"
    assert (machine.project / ".env").read_text() == "KEY=secret\n"


def test_a_supervisor_compares_also_after_the_death_of_bridle(machine, tmp_path):
    script = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from sheltered import BASH, Sheltered\nfrom pathlib import Path\nimport asyncio, os\n"
        f"machine = Sheltered.__new__(Sheltered); machine.__dict__.update(home=Path({str(machine.home)!r}), "
        f"project=Path({str(machine.project)!r}), other=Path({str(machine.other)!r}))\n"
        "machine.equip()\n"
        "invocation = machine.invocation()\n"
        "async def work():\n"
        "    running = asyncio.ensure_future(BASH.run(BASH.check({'command': "
        "'mkdir .claude; cp a.txt .claude/settings.json; echo ready; sleep 600'}), invocation))\n"
        "    while 'ready' not in invocation.printed.text():\n        await asyncio.sleep(0.05)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(work())\n"
    )
    subprocess.run([sys.executable, "-c", script], check=False, timeout=60)
    for _ in range(1_200):
        if not (machine.project / ".claude").exists():
            break
        subprocess.run(["sleep", "0.05"], check=True)
    assert not (machine.project / ".claude").exists()


def test_a_survey_finds_what_is_protected_and_passes_by_the_rest(machine):
    (machine.project / "x").mkdir()
    (machine.project / "x" / ".MCP.json").write_text("{}")
    found = Survey(
        PlaceWatch(root=str(machine.project), names={".mcp.json"}, git=(str(machine.project / ".git"),))
    ).found
    names = {str(Path(path).relative_to(machine.project)) for path in found}
    assert {"x/.MCP.json", ".git", ".git/config", ".git/hooks"} <= names
    assert "a.txt" not in names
    assert git_place(machine.project).folders == (machine.project / ".git",)


@pytest.mark.parametrize("command", ["checkout", "stash", "rebase", "worktree", "gc"])
def test_everyday_git_that_is_cut_off_leaves_no_trace_of_the_sandbox_either(machine, command):
    project = tracked(machine).project
    cut(machine, f"{EVERYDAY[command]}; git -C {project} checkout -q main; git add -A")
    assert {".bridle", "bridle.toml", ".claude", ".mcp.json", ".envrc", ".idea"}.isdisjoint(
        path.name for path in project.iterdir()
    )
    assert git(project, "status", "--porcelain").stdout in ("", " M module\n")
