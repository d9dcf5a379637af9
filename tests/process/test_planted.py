"""What a command in the sandbox may leave behind for a person, or for the next command, to trip over."""

import os
import subprocess
import time

import pytest
from support.sheltered import Sheltered

from bridle.workspace.git_place import git_folders


def without_git(shut_in):
    subprocess.run(["rm", "-rf", shut_in.project / ".git"], check=True)
    return shut_in


WAYS_OUT = {
    "commondir": "echo {other} > .git/commondir",
    "secrets by commondir": "echo {home}/.ssh > .git/commondir",
    "a work tree that is none": "mkdir -p .git/worktrees/w && echo {other} > .git/worktrees/w/commondir",
    "a .git file": "rm -rf .git; printf 'gitdir: {other}' > .git",
    "a .git link": "rm -rf .git; ln -s {other} .git",
    "modules that are a link": "rm -rf .git/modules; ln -s / .git/modules",
}


@pytest.mark.parametrize("git", ["there", "absent"])
@pytest.mark.parametrize("way", WAYS_OUT.values(), ids=WAYS_OUT)
def test_no_pointer_of_git_opens_another_folder(shut_in, way, git):
    if git == "absent":
        without_git(shut_in)
        (shut_in.project / ".git").mkdir()
    shut_in(way.format(other=shut_in.other, home=shut_in.home))
    began = time.monotonic()
    shut_in(f"echo x > {shut_in.other}/f; cat {shut_in.home}/.ssh/id_rsa; echo x > {shut_in.home}/.bashrc")
    assert time.monotonic() - began < 5
    assert list(shut_in.other.iterdir()) == []
    assert not (shut_in.home / ".bashrc").exists()
    assert "the private key" not in shut_in(f"cat {shut_in.home}/.ssh/id_rsa").text


WEAPONS = [
    "mkfifo .git/commondir",
    "printf 'a\\0b' > .git/commondir",
    "truncate -s 3G .git/commondir",
    "mkdir .git/commondir",
]


@pytest.mark.parametrize("weapon", WEAPONS)
def test_no_pointer_of_git_hangs_or_breaks_the_next_call(shut_in, weapon):
    shut_in(weapon)
    began = time.monotonic()
    assert shut_in("echo fine").text == "fine\n"
    assert time.monotonic() - began < 5


def later(shut_in):
    """A person uses git in the project: nothing of the model's may run then."""
    for words in (["status"], ["commit", "-q", "--allow-empty", "-m", "x"], ["checkout", "-q", "-b", "b"]):
        subprocess.run(["git", *words], cwd=shut_in.project, env=shut_in.environment, capture_output=True, check=False)
    return (shut_in.project / "PWNED").exists()


EVIL = "printf '[core]\\nrepositoryformatversion=0\\nfsmonitor=touch PWNED;false\\n'"
PLANTS = {
    "commondir": f"mkdir evil; cp -r .git/objects .git/refs evil; {EVIL} > evil/config; echo ../evil > .git/commondir",
    "a setting": f"{EVIL} >> .git/config",
    "a hook": "printf '#!/bin/sh\\ntouch PWNED\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
    "a setting beside one that was allowed": "git remote add x y; p=git; $p config core.fsmonitor 'touch PWNED'",
    "settings of a work tree": f"{EVIL} > .git/config.worktree",
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_nothing_is_planted_that_git_runs_later(shut_in, plant):
    shut_in(plant)
    assert not later(shut_in)


@pytest.mark.parametrize("plant", [*list(PLANTS.values())[1:3], f"{EVIL} > .git/config; touch .git/commondir"])
def test_nor_in_a_git_that_the_command_itself_has_made(shut_in, plant):
    output = without_git(shut_in)(f"git init -q . && {plant}")
    assert "was set aside because of" in output.text
    assert not later(shut_in)


def test_a_plain_new_repository_is_left_alone(shut_in):
    output = without_git(shut_in)("git init -q -b main . && echo x > f && git add f && git commit -qm first")
    assert (output.text, output.failed) == ("[no output]", False)
    assert git_folders(shut_in.project) == (shut_in.project / ".git",)


def test_hooks_that_a_setting_names_elsewhere_are_held_too(shut_in):
    (shut_in.project / ".husky").mkdir()
    subprocess.run(["git", "config", "core.hooksPath", ".husky"], cwd=shut_in.project, check=True)
    assert shut_in("echo x > .husky/pre-commit").failed


def test_links_below_a_persons_folder_are_followed_and_hidden(place):
    shut_in = Sheltered(place)
    real = place / "real-ssh"
    (shut_in.home / ".ssh").rename(real)
    (shut_in.home / ".ssh").symlink_to(real)
    text = shut_in(f"cat {real}/id_rsa; cat ~/.ssh/id_rsa; echo done").text
    assert "the private key" not in text and text.endswith("done\n")


def test_a_lower_bound_of_the_persons_own_stays(shut_in, monkeypatch):
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000_000, 50_000_000))
        os._exit(0 if shut_in("echo fine").text == "fine\n" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert resource.getrlimit(resource.RLIMIT_FSIZE) == before
