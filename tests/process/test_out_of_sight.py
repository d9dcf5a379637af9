"""What a command plants or moves where it is hard to see: without rights, far below, behind links, in repositories."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from support.protected_machine import EVIL, WRITE, background, git, person
from support.sheltered import Sheltered

from bridle.assembly.command_environment import command_environment_for, run_outside
from bridle.config.settings import McpServer, SandboxSettings, Settings
from bridle.errors import ToolFailed
from bridle.workspace.files import Files

HOOK = "printf '#!/bin/sh\\ntouch {marks}/PWNED\\n' > {path}; chmod +x {path}"


def evil(machine, command):
    """Run a command in which EVIL writes a configuration that runs something, and HOOK a hook."""
    return machine(command.replace("EVIL", EVIL).format(marks=machine.other))


def put(command):
    """Write a file wherever PUT stands, so that the command line does not show it: that would be asked about."""
    return re.sub(r"PUT ([^;]+)", lambda found: WRITE.format("evil", found[1]), command)


def hook(machine, path):
    return HOOK.format(marks=machine.other, path=path)


CLOSED_PLANTS = {
    "commondir": "cp -r .git evil; rm evil/HEAD; EVIL > evil/config; echo ../evil > .git/commondir; chmod 555 .git",
    "settings of the work tree": "EVIL > .git/config.worktree; chmod 555 .git",
    "a repository": "mkdir d; git init -q d/r; EVIL > d/r/.git/config; chmod 555 d d/r d/r/.git",
    "a repository that cannot be listed": "mkdir d; git init -q d/r; EVIL > d/r/.git/config; chmod 111 d",
    "folders that may not even be entered": "mkdir -p d/e; git init -q d/e/r; EVIL > d/e/r/.git/config; "
    "chmod 000 d/e/r d/e d",
}


@pytest.mark.parametrize("plant", CLOSED_PLANTS)
def test_rights_that_are_taken_away_stop_no_restoring(machine, plant):
    evil(machine, CLOSED_PLANTS[plant])
    subprocess.run(["chmod", "-R", "u+rwx", machine.project], check=True)
    assert not any(person(machine, folder) for folder in (machine.project, *machine.project.glob("d/**/r")))
    assert not (machine.project / ".git" / "commondir").exists()


def test_protected_files_in_folders_without_rights_are_removed_and_the_rights_stay_as_they_were(machine):
    text = machine(put("mkdir zz; echo E > zz/x; PUT zz/.envrc; PUT .envrc; chmod 0311 zz; chmod 555 .")).text
    modes = [path.stat().st_mode & 0o777 for path in (machine.project / "zz", machine.project)]
    assert modes == [0o311, 0o555]
    machine.project.chmod(0o755)
    (machine.project / "zz").chmod(0o755)
    assert not (machine.project / ".envrc").exists() and not (machine.project / "zz" / ".envrc").exists()
    assert "zz/.envrc is protected and was removed" in text


def test_a_deep_tree_keeps_nothing_else_from_being_seen(machine):
    plant = put("mkdir b; PUT b/.envrc; ") + "git init -q b/r; EVIL > b/r/.git/config; "
    text = evil(machine, plant + "for i in $(seq 400); do mkdir d; cd d; done").text
    assert not (machine.project / "b" / ".envrc").exists()
    assert not person(machine, machine.project / "b" / "r")
    assert "too large" in text


def test_many_files_in_one_protected_folder_keep_no_other_from_being_seen(machine):
    fill = "sh -c 'mkdir $1 y; for i in $(seq 6000); do echo $i > $1/$i; done' - .claude"
    machine(put(f"{fill}; PUT y/.envrc"))
    assert not (machine.project / "y" / ".envrc").exists() and not (machine.project / ".claude").exists()


def test_a_link_named_git_opens_nothing_of_the_home(machine):
    secret = machine.home / ".ssh" / "id_rsa"
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.write_text("secret of the home\n")
    subprocess.run(["rm", "-rf", machine.project / ".git"], check=True)
    for target in (secret.parent, machine.home):
        (machine.project / ".git").symlink_to(target)
        assert "secret of" not in machine(f"cat .git/id_rsa .git/.ssh/id_rsa {secret}").text
        (machine.project / ".git").unlink()


NESTED = {
    "hooks path": ("core.hooksPath", "hk", "mkdir -p lib/hk; HOOK lib/hk/post-checkout"),
    "include": ("include.path", "../inc.cfg", "EVIL > lib/inc.cfg"),
}


@pytest.mark.parametrize("kind", NESTED)
def test_what_a_repository_below_obeys_is_protected_too(machine, kind):
    key, value, plant = NESTED[kind]
    git(machine.project, "init", "-q", "lib")
    git(machine.project / "lib", "config", key, value)
    where = "lib/hk/post-checkout" if kind == "hooks path" else "lib/inc.cfg"
    evil(machine, plant.replace("HOOK lib/hk/post-checkout", HOOK.replace("{path}", where)))
    assert not person(machine, machine.project / "lib")
    with pytest.raises(ToolFailed, match="git runs or obeys it"):
        Files(machine.project).place("edit", where)


def test_hooks_that_the_user_s_own_configuration_names_in_every_project_are_protected(machine):
    subprocess.run(["git", "config", "--global", "core.hooksPath", "tools/hooks"], env=machine.environment, check=True)
    text = machine("mkdir -p tools/hooks; " + hook(machine, "tools/hooks/pre-commit")).text
    assert "tools/hooks/pre-commit is protected and was removed" in text


LINKS = {
    ".git/hooks": ("gh", "gh/pre-commit"),
    ".git/hooks/pre-commit": ("run.sh", "run.sh"),
    ".vscode": ("conf", "conf/x"),
}


@pytest.mark.parametrize("link", LINKS)
def test_what_protected_links_lead_to_is_protected(machine, link):
    target, planted = LINKS[link]
    place = machine.project / link
    subprocess.run(["rm", "-rf", place], check=True)
    if target == planted:
        (machine.project / target).write_text("#!/bin/sh\ntrue\n")
    else:
        (machine.project / target).mkdir()
    place.symlink_to(os.path.relpath(machine.project / target, place.parent))
    machine(hook(machine, planted))
    assert not person(machine)
    assert not (machine.project / "conf" / "x").exists()


def test_a_repository_in_two_halves_is_set_aside(machine):
    halves = "mkdir -p x y/objects y/refs y/hooks; cp .git/HEAD x/HEAD; echo ../y > x/commondir; EVIL > y/config; "
    assert (
        "x was set aside because of its commondir" in evil(machine, halves + hook(machine, "y/hooks/post-commit")).text
    )


def test_a_link_in_place_of_a_repository_is_set_aside(machine):
    (machine.project / ".gitignore").write_text("node_modules\n")
    git(machine.project, "init", "-q", "lib")
    swap = "mkdir node_modules; cp -r lib node_modules/lib; EVIL > node_modules/lib/.git/config; rm -rf lib; "
    text = evil(machine, swap + "ln -s node_modules/lib lib").text
    assert "lib was set aside" in text
    assert not (machine.project / "lib").exists()


def test_what_was_left_behind_in_the_background_is_logged_and_does_not_vouch_for_copies(machine, caplog):
    background(machine, put("mkdir s; PUT s/.envrc; PUT s/AGENTS.md"))
    assert "s/AGENTS.md is protected and has changed" in caplog.text
    text = machine(put("PUT .envrc; PUT AGENTS.md")).text
    assert "AGENTS.md is protected and was removed" in text
    assert not (machine.project / ".envrc").exists()


REMOTES = {
    "remotes": "mkdir .git/remotes; printf 'URL: ./.git/x\\n' > .git/remotes/origin",
    "branches": "mkdir -p .git/branches; echo ./.git/x > .git/branches/origin",
}


@pytest.mark.parametrize("kind", REMOTES)
def test_no_address_to_push_to_is_planted(machine, kind):
    machine("git init -q --bare .git/x; " + hook(machine, ".git/x/hooks/pre-receive") + "; " + REMOTES[kind])
    git(machine.project, "push", "origin", "HEAD:refs/heads/main")
    assert not (machine.other / "PWNED").exists()


def test_a_new_repository_whose_remote_is_a_folder_that_nobody_looks_at_is_set_aside(machine):
    (machine.project / ".gitignore").write_text("node_modules\n")
    text = machine("git init -q --bare node_modules/e; git init -q new; git -C new remote add o ../node_modules/e").text
    assert "new/.git was set aside because of its config" in text


def test_work_trees_that_were_there_before_can_be_removed(machine):
    machine("git worktree add -q tree; git worktree add -q other")
    output = machine("git worktree remove tree && rm -rf other && git worktree prune && git worktree list | wc -l")
    assert (output.text, output.failed) == ("1\n", False)


def test_the_repository_of_a_submodule_that_a_command_adds_stays(machine):
    git(machine.other, "init", "-q", "-b", "main", ".")
    git(machine.other, "commit", "-q", "--allow-empty", "-m", "one")
    git(machine.project, "clone", "-q", "--bare", machine.other, "upstream.git")
    # Only the entry in the project's own configuration needs a person's approval.
    machine("git -c protocol.file.allow=always submodule --quiet add ./upstream.git sm")
    assert "main" in machine("git -C sm log --oneline --decorate").text
    machine("EVIL >> .git/modules/sm/config".replace("EVIL", EVIL).format(marks=machine.other))
    assert not person(machine, machine.project / "sm")


def masked(machine):
    (machine.project / "sub" / "in").mkdir(parents=True)
    (machine.project / "sub" / "in" / ".env").write_text("KEY=secret\n")
    (machine.project / ".gitignore").write_text("node_modules\n")
    return machine


MOVES = {
    "without rights": ("chmod 000 sub", "chmod 700 sub; cat sub/in/.env"),
    "into dependencies": ("mkdir node_modules; mv sub node_modules/", "cat node_modules/sub/in/.env"),
    "its own folder": ("mkdir node_modules; mv sub/in node_modules/", "cat node_modules/in/.env"),
    "far below": (
        "p=$PWD; for i in $(seq 300); do mkdir n; cd n; done; mv $p/sub .",
        "for i in $(seq 300); do cd n; done; cat sub/in/.env",
    ),
}


@pytest.mark.parametrize("move", MOVES)
def test_masked_files_stay_masked_wherever_a_command_moves_them(machine, move):
    masked(machine)
    first, second = MOVES[move]
    machine(first)
    assert "secret" not in machine(second).text


def test_masks_in_many_folders_leave_the_project_usable(machine):
    for number in range(70):
        (machine.project / f"p{number}").mkdir()
        (machine.project / f"p{number}" / ".env").write_text("KEY=secret\n")
        (machine.project / f"p{number}" / "code").write_text("code\n")
    output = machine("cat p*/code | wc -l; cat p*/.env; echo new > p3/made")
    assert output.text.startswith("70\n") and "secret" not in output.text
    assert (machine.project / "p3" / "made").exists()


def test_a_masked_link_breaks_no_command(machine):
    (machine.project / ".env").symlink_to("/dev/zero")
    assert machine("echo fine").text == "fine\n"


def test_bridle_s_own_folders_in_the_project_are_neither_made_nor_moved(place):
    machine = Sheltered(place)
    own = machine.project / "conf" / "bridle"
    machine.commands.guarded = (own,)
    machine("mkdir -p conf/bridle; cp /etc/hostname conf/bridle/config.toml")
    assert not (own / "config.toml").exists()
    own.mkdir(parents=True, exist_ok=True)
    (own / "journal.db").write_text("secret\n")
    machine("mv conf conf2")
    assert "secret" not in machine("cat conf2/bridle/journal.db conf/bridle/journal.db").text


@pytest.mark.parametrize("linked", ["config.toml", "tools"])
def test_what_the_user_s_own_configuration_links_to_in_the_project_is_protected(place, linked):
    machine = Sheltered(place)
    own = machine.home / ".config" / "bridle"
    own.mkdir(parents=True)
    (machine.project / "stow" / "tools").mkdir(parents=True)
    (machine.project / "stow" / "config.toml").write_text("[behavior]\n")
    (own / linked).symlink_to(machine.project / "stow" / linked)
    settings = Settings(sandbox=SandboxSettings(mode="required"))
    machine.commands = command_environment_for(settings, machine.environment, (own,), None, machine.project)
    machine("cp /etc/hostname stow/config.toml; cp /etc/hostname stow/tools/evil.py")
    assert not (machine.project / "stow" / "tools" / "evil.py").exists() or linked != "tools"
    assert (machine.project / "stow" / "config.toml").read_text() == "[behavior]\n" or linked != "config.toml"


def test_the_script_of_a_server_that_has_the_network_is_not_the_model_s_to_write(place):
    (place / "srv.py").write_text("serve()\n")
    server = McpServer(command=["python3", "srv.py"], network=True)
    assert place.resolve() / "srv.py" in run_outside(Settings(mcp={"z": server}), place, {})


def test_the_replaced_version_is_kept_also_where_no_output_was_kept_before(machine):
    (machine.project / "sub").mkdir()
    machine.commands.outputs = machine.home.parent / "elsewhere" / "outputs"
    text = machine(put("PUT sub/AGENTS.md")).text
    kept = text.partition("the changed version is in ")[2].partition(";")[0]
    assert Path(kept).read_text() == "evil\n"
