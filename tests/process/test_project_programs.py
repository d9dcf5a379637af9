"""What a command names that runs outside of the sandbox is protected; where that cannot be told, it is refused."""

import os
import re

import pytest

from bridle.assembly.command_environment import run_outside
from bridle.config.settings import McpServer, Settings
from bridle.errors import ConfigError
from bridle.process.project_programs import Outside, named_files


@pytest.fixture
def project(tmp_path):
    folder = tmp_path.resolve() / "home" / "p"
    for name in ("check.sh", "tools/check.sh", "tools/check.py", "tools/other.py", "Makefile", "rules.mk", "check.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    (folder / "link.sh").symlink_to("tools/check.sh")
    (folder / "way").symlink_to("tools")
    (folder / "tools" / "run").write_text("#!/usr/bin/env python3\n")
    (folder / "tools" / "run").chmod(0o755)
    return folder


def named(project, command, start=".", **environment):
    given = Outside("hooks", command, (project / start).resolve())
    known = {"HOME": str(project.parent), "PATH": "/usr/bin:/bin", **environment}
    return sorted(os.path.relpath(path, project) for path in named_files([given], project, known))


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("./check.sh", ["check.sh"]),
        ("cat check.sh|sh", ["check.sh"]),
        ("true;sh<check.sh", ["check.sh"]),
        ("(sh check.sh)&", ["check.sh"]),
        ("sh 'che'ck.\"sh\"", ["check.sh"]),
        ("sh ~/p/check.sh", ["check.sh"]),
        ("sh $HOME/p/check.sh", ["check.sh"]),
        ('sh "${HOME}/p/check.sh"', ["check.sh"]),
        ('"$PWD/check.sh"', ["check.sh"]),
        ("sh tools/../check.sh", ["check.sh"]),
        ("./link.sh", ["link.sh", "tools/check.sh"]),
        ("sh way/check.sh", ["tools/check.sh", "way", "way/check.sh"]),
        ("cd tools; sh check.sh", ["check.sh", "tools/check.sh"]),
        ("cd new && ./made.sh", ["made.sh", "new/made.sh"]),
        ("sh -c 'cat check.sh|sh'", ["check.sh"]),
        ("env X=1 sh -c 'sh check.sh # it is'", ["check.sh"]),
        ("jq --from-file=check.sh '.a | $x'", ["check.sh"]),
        ("curl -d @check.sh https://example.com", ["check.sh"]),
        ("make lint", ["GNUmakefile", "Makefile", "makefile", "rules.mk"]),
        ("make --file=rules.mk lint", ["GNUmakefile", "Makefile", "makefile", "rules.mk"]),
        ("python3 tools/check.py", ["tools", "tools/check.py"]),
        ("python3 -I check.py", ["check.py"]),
        ("./tools/run", ["tools", "tools/run"]),
        ("sh ./absent.sh # don't", ["absent.sh"]),
        ("notify-send 'a task is done'", []),
        ("[ -e /tmp/x ] || echo go", []),
        ("gofmt -w {file}", []),
    ],
)
def test_every_file_that_a_line_names_is_found(project, command, files):
    assert named(project, command) == files


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("sh ./chec?.sh", "'?' in it is expanded"),
        ("F=check; sh ./$F.sh", "'$F' in it is expanded"),
        ("sh $(ls)", "'$(' in it is expanded"),
        ("sh `ls`", "'`' in it is expanded"),
        ("sh ./{check,other}.sh", "'{check,other}' in it is expanded"),
        ("sh ~someone/check.sh", "'~someone' in it is expanded"),
        ("sh -c 'sh ./$F.sh'", "'$F' in it is expanded"),
        ("sh 'check.sh", "quotes"),
        ("npm run lint", "npm runs files of the project"),
        ("env CI=1 npx eslint .", "npx runs files of the project"),
        ("cd tools && just lint", "just runs files of the project"),
        ("python3 -m tools.check", "python3 without a script imports"),
        ("python3 -c 'import json'", "python3 without a script imports"),
        ("cat check.sh | python3", "python3 without a script imports"),
        ("python3 check.py", "check.py may import everything"),
    ],
)
def test_a_line_is_refused_that_may_run_what_it_does_not_name(project, command, why):
    with pytest.raises(ConfigError, match=re.escape(why)) as refused:
        named(project, command)
    assert "put the script outside of the project" in str(refused.value)


def test_a_server_is_looked_at_where_it_starts(project):
    assert named(project, ["sh", "check.sh"], "tools") == ["tools/check.sh"]
    assert named(project, ["sh", "-c", "cat check.sh|sh"], "tools") == ["tools/check.sh"]
    assert named(project, ["serve", "--text", "$X costs *"]) == []
    assert named(project, ["npx", "-y", "server"], "..") == []
    # npx takes the package from the project if it is there, and settings that say where to fetch it.
    wanted = {".npmrc", "node_modules/.bin/server", "node_modules/@of/server"}
    assert wanted <= set(named(project, ["npx", "-y", "@of/server@1.2"]))
    assert named(project, ["uvx", "server"]) == []
    with pytest.raises(ConfigError, match="npx runs files of the project"):
        named(project, ["npx", "-y", "eslint"])


def test_a_program_is_protected_that_the_search_path_would_find_in_the_project(project):
    path = f"{project}/.venv/bin:/usr/bin"
    assert named(project, "notify-send done", PATH=path) == [".venv/bin/notify-send"]
    program = project / ".venv" / "bin" / "ruff"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with pytest.raises(ConfigError, match=r"lies in \.venv"):
        named(project, "ruff check", PATH=path)


def test_the_folder_and_the_filled_in_words_of_a_server_count(project):
    home = {"HOME": str(project.parent), "XDG_CONFIG_HOME": "/own"}
    server = McpServer(command=["sh", "{env:HOME}/p/check.sh", "check.sh", "--key", "{env:NONE}"], folder="tools")
    servers = {"s": server, "out": McpServer(command=["sh", "-c", "sh ./link.sh|cat"], sandbox=False)}
    assert run_outside(Settings(mcp={"s": server}), project, home) == ()
    servers["s"] = McpServer(command=server.command, folder="tools", sandbox=False)
    found = {os.path.relpath(path, project) for path in run_outside(Settings(mcp=servers), project, home)}
    assert found >= {"check.sh", "tools/check.sh", "link.sh"}
    with pytest.raises(ConfigError, match=r"^/own/bridle/config\.toml: mcp\.n\.command: npx runs files of the project"):
        run_outside(Settings(mcp={"n": McpServer(command=["npx", "jest"], sandbox=False)}), project, home)
